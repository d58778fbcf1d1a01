"""`sardonyx bench`: alternating engines, ours first, and others if they are installed."""

from __future__ import annotations

import importlib.util
import io
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.program import Precision
from sardonyx._src.measure import engines
from sardonyx._src.measure.engines import Feeds, Run
from sardonyx._src.measure.timing import interleave_calls, max_relative_difference

TEXT = "g (float[N,2] x, int64[1] i) => (float[1,2] y) { y = Gather(x, i) }"
Opened = Callable[[object, str, int, Precision], Run]
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> str:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def other(monkeypatch: pytest.MonkeyPatch, open_engine: Opened) -> None:
    """Replaces another engine by a package that is always installed."""
    monkeypatch.setattr(engines, "OTHERS", {"json": open_engine})


def off_by_a_quarter(package: object, path: str, threads: int, precision: Precision) -> Run:
    session = sx.Session(path, engine="reference")

    def run(feeds: Feeds) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        (y,) = session.run(feeds).values()
        assert isinstance(y, np.ndarray)
        return [y + np.float32(0.25) * np.abs(y).max()]

    return run


def reject(package: object, path: str, threads: int, precision: Precision) -> Run:
    raise ValueError("no such operator")


def test_each_number_of_threads_has_a_line(path: str, capsys: Streams) -> None:
    assert main(["bench", path, "--dim", "N=3", "--threads", "1,2", "--turns", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["x: float[3,2]", "i: int64[1]"]
    assert [line.split()[:2] for line in lines[3:]] == [["1", "sardonyx"], ["2", "sardonyx"]]


def test_another_engine_is_compared_with_ours(
    path: str, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    other(monkeypatch, off_by_a_quarter)
    words = ["bench", path, "--dim", "N=2", "--against", "json", "--threads", "1", "--turns", "2", "--json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == {"x": "float[2,2]", "i": "int64[1]"}
    ours, theirs = report["measured"]
    assert (ours["engine"], ours["ratio"], ours["difference"]) == ("sardonyx", 1, 0)
    assert theirs["ratio"] == pytest.approx(theirs["median"] / ours["median"])
    assert theirs["difference"] == pytest.approx(0.25, rel=1e-6)  # float32 rounds the sum once
    assert theirs["best"] <= theirs["low"] <= theirs["median"] <= theirs["high"]


def test_values_of_the_command_line_are_fed(path: str, capsys: Streams) -> None:
    assert main(["bench", path, "x=[[1, 2], [3, 4], [5, 6]]", "--threads", "1", "--turns", "1"]) == 0
    assert capsys.readouterr().out.startswith("x: float[3,2]\n")


@pytest.mark.parametrize("form", ["m.onnxtxt", "-"])
def test_another_engine_gets_a_binary_file_whatever_the_form(
    path: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def open_engine(package: object, path: str, threads: int, precision: Precision) -> Run:
        seen.append((Path(path).suffix, len(sx.load(path).graph.nodes)))
        return off_by_a_quarter(package, path, threads, precision)

    other(monkeypatch, open_engine)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
    text = Path(path).with_suffix(".onnxtxt")
    text.write_text(sx.to_text(sx.load(path)))
    source = "-" if form == "-" else str(text)
    assert main(["bench", source, "--dim", "N=2", "--against", "json", "--threads", "1", "--turns", "1"]) == 0
    assert seen == [(".onnx", 1)]


def test_a_model_that_another_engine_rejects_is_a_finding(
    path: str, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    other(monkeypatch, reject)
    assert main(["bench", path, "--dim", "N=2", "--against", "json", "--turns", "1"]) == 1
    assert "json rejects the model: no such operator" in capsys.readouterr().err


def test_an_engine_that_is_missing_comes_with_the_line_that_installs_it(
    path: str, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["bench", path, "--against", "openvino"]) == 2
    assert capsys.readouterr().err == "sardonyx: openvino must be installed; run: pip install openvino\n"


@pytest.mark.parametrize(
    "words", [["--against", "tvm"], ["--threads", "0"], ["--dim", "N=x"], ["--dim", "Q=1"], ["--turns", "0"]]
)
def test_wrong_words_are_wrong_use(path: str, words: list[str]) -> None:
    assert main(["bench", path, *words]) == 2


def test_engines_alternate_and_the_first_call_of_a_burst_is_not_counted() -> None:
    ticks = itertools.count()
    called: list[str] = []
    calls = {name: (lambda name=name: called.append(name)) for name in "ab"}
    samples = interleave_calls(calls, 2, lambda: None, lambda: next(ticks) * 0.004)
    assert (
        "".join(called) == "aaabbb" + "aaabbb" * 2
    )  # three calls to estimate the time of one, then bursts of 10 ms
    assert samples == {name: [pytest.approx(0.004)] * 4 for name in "ab"}


def test_a_difference_is_relative_to_the_largest_number() -> None:
    judge = np.array([1.0, -4.0, np.inf, np.nan], np.float32)
    outputs = np.array([1.5, -4.0, np.inf, np.nan], np.float32)
    assert max_relative_difference([outputs], [judge]) == 0.125
    assert max_relative_difference([judge[:2]], [np.array([1.0, np.nan], np.float32)]) == math.inf
    assert math.isnan(max_relative_difference([judge, judge[:2]], [judge, judge[:3]]))
