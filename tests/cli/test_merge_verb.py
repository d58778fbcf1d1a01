"""`sardonyx merge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    sx.save(parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path / "a.onnx")
    sx.save(parse_model("h (float[N] v) => (float[N] w) { w = Abs(v) }"), tmp_path / "b.onnx")
    return [str(tmp_path / name) for name in ("a.onnx", "b.onnx", "out.onnx")]


def test_the_merged_model_is_written(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b, out = paths
    assert main(["merge", a, b, "--map", "y=v", "-o", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == [{"name": "x", "type": "float[2]"}]
    assert report["outputs"] == [{"name": "w", "type": "float[2]"}]
    assert [n.op_type for n in sx.load(out).graph.nodes] == ["Neg", "Abs"]


def test_wrong_names_are_wrong_use(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b, out = paths
    assert main(["merge", a, b, "--map", "y=z", "-o", out]) == 2
    assert "the second model has no input 'z'" in capsys.readouterr().err


def test_models_that_do_not_fit_are_a_finding(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b, out = paths
    sx.save(parse_model("h (double v) => (double w) { w = Abs(v) }"), b)
    assert main(["merge", a, b, "-o", out]) == 1
    assert "must be double; got float" in capsys.readouterr().err
