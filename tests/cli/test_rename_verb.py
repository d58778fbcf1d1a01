"""`sardonyx rename`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.proto.binary import encode

TEXT = 'g (float[N] x) => (float[N] y) { ["n/a"] a = Neg(x)  ["n/b"] y = Abs(a) }'


def test_names_are_changed_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    words = [
        "--input",
        "x=image",
        "--dim",
        "N=batch",
        "--graph",
        "net",
        "-o",
        str(tmp_path / "o.onnx"),
        "--json",
    ]
    assert main(["rename", str(tmp_path / "m.onnx"), *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == [{"name": "image", "type": "float[batch]"}]
    assert sx.load(tmp_path / "o.onnx").graph.name == "net"


def test_a_model_goes_from_stream_to_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin, stdout = io.BytesIO(encode(parse_record(TEXT))), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout))
    assert main(["rename", "-", "--regex", "--node", r"n/(.*)=\1", "-o", "-"]) == 0
    assert [n.name for n in sx.load(stdout.getvalue()).graph.nodes] == ["a", "b"]


def test_what_says_no_renaming_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    assert main(["rename", str(tmp_path / "m.onnx"), "--input", "x", "-o", str(tmp_path / "o.onnx")]) == 2
    assert "--input must be A=B" in capsys.readouterr().err
