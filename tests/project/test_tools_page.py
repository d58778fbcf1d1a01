"""docs/tools.md: both spellings of each row run, and name the same tool."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

PAGE = (Path(__file__).resolve().parents[2] / "docs/tools.md").read_text()
ROWS = re.findall(r"^\| `(sx\..*?)` \| `(sardonyx .*?)` \|$", PAGE, re.M)
TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Relu(a) }"


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(TEXT), "m.onnx")
    sx.save(parse_model("g (float[N,2] y) => (float[N,2] z) { b = Neg(y)  z = Relu(b) }"), "second.onnx")
    sx.tools.certify("m.onnx", {"x": [[1.0, 2.0]]}).save("certificate.json")


@pytest.mark.parametrize(("python", "command"), ROWS, ids=[command.split()[1] for _, command in ROWS])
def test_both_spellings_run(python: str, command: str) -> None:
    result = eval(python, {"sx": sx})  # a row of our own page
    assert main(shlex.split(command)[1:]) == 0
    if isinstance(result, sx.Model) and "out.onnx" in command:
        assert sx.tools.diff(result, "out.onnx") == []


def test_the_page_names_every_tool() -> None:
    functions = [name for name in sx.tools.__all__ if name[0].islower()]
    assert [name for name in functions if f"{name}" not in PAGE] == []


def test_sources_of_any_kind_are_taken() -> None:
    data = Path("m.onnx").read_bytes()
    for source in ("m.onnx", Path("m.onnx"), data, sx.load("m.onnx")):
        assert len(sx.tools.extract(source, outputs=["a"]).graph.nodes) == 1
        assert [cost.flops for cost in sx.tools.node_costs(source, {"N": 8})] == [16, 16]


def test_costs_of_products() -> None:
    model = parse_model(
        "g (float[N,3,8,8] x, float[4,3,3,3] w) => (y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }"
    )
    (cost,) = sx.tools.node_costs(model, {"N": 2})
    assert cost.flops == 2 * (2 * 4 * 8 * 8) * (3 * 3 * 3)
    assert cost.bytes == 4 * (2 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 2 * 4 * 8 * 8)


def test_a_profile_is_a_chrome_trace() -> None:
    profile = sx.tools.profile("m.onnx")
    events = profile.chrome_trace()["traceEvents"]
    assert isinstance(events, list) and len(events) == len(profile.actions)
    assert {"name", "ph", "ts", "dur", "pid", "tid"} <= events[0].keys()


def test_texts_have_no_bytes() -> None:
    model = parse_model(
        "g (string[3] x, string[1] y) => (z, n) { z = Equal(x, y) n = Identity(x) }", opset=19
    )
    assert [cost.bytes for cost in sx.tools.node_costs(model)] == [None, None]
