"""`sardonyx set-dims`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = "g (float[1,2,N] x) => (float[1,'2*N'] y) <int64[2] s = {1, -1}> { y = Reshape(x, s) }".replace(
    "'", '"'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model_path = tmp_path / "m.onnx"
    sx.save(parse_model(TEXT), model_path)
    return model_path


def test_sizes_are_set_and_reported(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("out.onnx")
    words = ["set-dims", str(path), "--free", "x:0=B", "--dim", "N=4", "-o", str(out), "--json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == [{"name": "x", "type": "float[B,2,4]"}]
    assert report["outputs"] == [{"name": "y", "type": "float[B,8]"}]
    assert report["notes"] == ["node[0] (Reshape): [1, -1] -> [B, -1]"]
    assert str(sx.load(out).graph.outputs[0].type) == "float[B,8]"


def test_a_shape_is_given_as_a_list(path: Path) -> None:
    out = path.with_name("out.onnx")
    assert main(["set-dims", str(path), "--input", "x=3,2,M", "-o", str(out)]) == 0
    assert str(sx.load(out).graph.inputs[0].type) == "float[3,2,M]"


def test_a_contradiction_is_a_finding(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model("g (float[N] x) => (float[4] y) { y = Neg(x) }"), path)
    assert main(["set-dims", str(path), "--dim", "N=3", "-o", str(path.with_name("out.onnx"))]) == 1
    assert "declared length 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--dim", "N=x"], ["--free", "x=N"], ["--input", "x"], ["--free", "x:a=N"]]
)
def test_wrong_words_are_wrong_use(path: Path, words: list[str]) -> None:
    assert main(["set-dims", str(path), *words, "-o", str(path.with_name("out.onnx"))]) == 2
