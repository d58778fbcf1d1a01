"""`sardonyx infer`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.proto.binary import encode

TEXT = "g (float[N,2] x) => (float[] y) { a = Neg(x)  y = Concat<axis = 0>(a, a) }"


def test_types_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    assert main(["infer", str(tmp_path / "m.onnx")]) == 0
    assert capsys.readouterr().out == "x: float[N,2]\na: float[N,2]\ny: float[2*N,2]\n"
    assert main(["infer", str(tmp_path / "m.onnx"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["types"]["y"] == "float[2*N,2]"


def test_the_typed_model_is_written(tmp_path: Path) -> None:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    assert main(["infer", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "typed.onnx")]) == 0
    assert str(sx.load(tmp_path / "typed.onnx").graph.outputs[0].type) == "float[2*N,2]"


def test_every_contradiction_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = parse_record("g (float[2] x) => (float[3] y, float[4] z) { y = Neg(x)  z = Abs(x) }")
    (tmp_path / "m.onnx").write_bytes(encode(wrong))
    assert main(["infer", str(tmp_path / "m.onnx")]) == 1
    assert capsys.readouterr().err.count("declared length") == 2
