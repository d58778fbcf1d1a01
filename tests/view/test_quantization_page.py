"""The errors of a quantization in a page: at the nodes of the quantized model, and of the original."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InputError
from sardonyx._src.view.pages import Page
from sardonyx._src.view.quantization_data import QuantizationData

RNG = np.random.default_rng(6)
WIDTH = 32


def model() -> sx.Model:
    b = sx.Builder(opset=21)
    x: sx.ir.Value = b.input("x", "float32", ["N", WIDTH])
    for name in ("first", "second", "third"):
        x = b.Tanh(b.MatMul(x, RNG.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 4, name=name))
    return b.model(y=x)


@pytest.fixture(scope="module")
def quantized() -> sx.Quantization:
    rows = RNG.standard_normal((8, WIDTH)).astype(np.float32)
    return sx.quantize(model(), "int4", data={"x": rows}, exclude=["third"], force=True, rounds=0)


def errors_of(page: Page) -> QuantizationData:
    data = page.data["documents"][0]["quantization"]
    assert data is not None
    return data


def names_of(page: Page, nodes: list[int]) -> list[str]:
    document = page.data["documents"][0]
    names = document["graphs"][0]["nodes"]["name"]
    return [document["strings"][names[node]] for node in nodes]


def test_layers_are_at_their_nodes(quantized: sx.Quantization) -> None:
    page = sx.view(quantized.model, report=quantized.report)
    data = errors_of(page)
    assert data["measure"] == "final" and names_of(page, data["nodes"]["node"]) == ["first", "second"]
    assert data["nodes"]["share"] == [layer.share for layer in quantized.report.layers]
    assert data["nodes"]["alone"] == [layer.alone for layer in quantized.report.layers]
    assert names_of(page, data["kept"]["node"]) == ["third"] and data["kept"]["why"] == ["it is excluded"]
    original = sx.view(model(), report=quantized.report)
    assert names_of(original, errors_of(original)["nodes"]["node"]) == ["first", "second"]


def test_without_shares_the_errors_of_layers_are_compared(quantized: sx.Quantization, tmp_path: Path) -> None:
    facts = quantized.report.as_json()
    facts["layers"] = [
        {
            "layer": name,
            "shape": [],
            "signal_to_noise": ratio,
            "bits": 4,
            "note": "",
            "alone": None,
            "share": None,
        }
        for name, ratio in (("first", 20.0), ("second", 10.0), ("third", None))
    ]
    (tmp_path / "r.json").write_text(json.dumps(facts))
    data = errors_of(sx.view(quantized.model, report=tmp_path / "r.json"))
    assert data["measure"] == "layers"
    assert data["nodes"]["share"] == pytest.approx([0.01 / 0.11, 0.1 / 0.11, 0])
    assert data["nodes"]["own"] == [20.0, 10.0, None]


def test_the_command(quantized: sx.Quantization, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(quantized.model, tmp_path / "q.onnx")
    (tmp_path / "r.json").write_text(json.dumps(quantized.report.as_json()))
    words = ["view", str(tmp_path / "q.onnx"), "--report", str(tmp_path / "r.json")]
    assert main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["documents"][0]["quantization"]
    assert data["nodes"]["layer"] == ["first", "second"] and data["scheme"].startswith("int4")


def test_a_picture_has_the_colors_and_a_legend(quantized: sx.Quantization) -> None:
    pytest.importorskip("py_mini_racer")
    svg = sx.view(quantized.model, report=quantized.report).svg()
    assert "share of the final error: 0 %" in svg
    assert f"{max(layer.share for layer in quantized.report.layers):.1%}".replace("%", " %") in svg


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"scheme": "int4", "layers": [1], "outputs": []}'])
def test_another_file_is_no_report(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(InputError, match=r"report must be a report of sx\.quantize, or a file"):
        sx.view(model(), report=tmp_path / "r.json")


def test_a_report_of_another_model(quantized: sx.Quantization) -> None:
    b = sx.Builder(opset=21)
    other = b.model(y=b.Relu(b.input("x", "float32", ["N"])))
    with pytest.raises(
        InputError, match="report must be of this model; got one of 'first' and 1 other layers"
    ):
        sx.view(other, report=quantized.report)
