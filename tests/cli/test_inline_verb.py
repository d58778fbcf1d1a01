"""`sardonyx inline`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = """g (float x) => (float y) { y = my.f(x) }
<opset_import: ["": 21], domain: "my"> f (p) => (q) { a = Neg(p)  q = Abs(a) }"""


def test_the_flat_model_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT, more='"my": 1'), tmp_path / "m.onnx")
    assert main(["inline", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "flat.onnx"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["functions"], report["functions_before"]) == ([], ["my.f"])
    assert (report["nodes"], report["nodes_before"]) == (2, 1)
    assert [n.op_type for n in sx.load(tmp_path / "flat.onnx").graph.nodes] == ["Neg", "Abs"]


def test_a_limit_that_is_passed_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(TEXT, more='"my": 1'), tmp_path / "m.onnx")
    words = ["inline", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "flat.onnx"), "--limit", "1"]
    assert main(words) == 1
    assert "up to 3 nodes" in capsys.readouterr().err


def test_only_functions_without_an_operator_of_their_name(tmp_path: Path) -> None:
    sx.save(parse_model(TEXT, more='"my": 1'), tmp_path / "m.onnx")
    assert main(["inline", str(tmp_path / "m.onnx"), "--lacking", "-o", str(tmp_path / "flat.onnx")]) == 0
    assert [n.op_type for n in sx.load(tmp_path / "flat.onnx").graph.nodes] == ["Neg", "Abs"]
