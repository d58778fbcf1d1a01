"""`sardonyx convert`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = "g (float[1,2] x) => (float[2] y) { y = Squeeze<axes = [0]>(x) }"
DYNAMIC = "g (float[1,2] x, int64[1] a) => (float[2] y, float[1,2] z) { y = Squeeze(x, a) z = Relu(x) }"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    sx.save(parse_model(TEXT, opset=11), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_the_converted_model_is_written(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.onnx"
    assert main(["convert", str(file), "--opset", "13", "--ir-version", "8", "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(
        "ir_version 10, ai.onnx 11 -> ir_version 8, ai.onnx 13; 1 node -> 2 nodes"
    )
    assert sx.load(out).opset_imports == {"": 13}


def test_without_an_output_nothing_is_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(file), "--opset", "13", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["to"] == {"ir_version": 10, "ai.onnx": 13}
    assert report["stayed"] == []
    assert list(file.parent.iterdir()) == [file]


def test_a_refusal_writes_nothing_unless_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    sx.save(parse_model(DYNAMIC, opset=13), source)
    assert main(["convert", str(source), "--opset", "11", "-o", str(out)]) == 1
    assert "it is an attribute in the target version" in capsys.readouterr().err
    assert not out.exists()
    assert main(["convert", str(source), "--opset", "11", "--partial", "-o", str(out)]) == 1
    assert sx.load(out).opset_imports[""] == 11


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--opset", "99"],
        ["--opset", "13", "--domain", "ai.onnx=14"],
        ["--domain", "ai.onnx.ml"],
        ["--ir-version", "new"],
        ["--domain", "my=3"],
    ],
)
def test_wrong_use(file: Path, words: list[str]) -> None:
    assert main(["convert", str(file), *words]) == 2
