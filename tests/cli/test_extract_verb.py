"""`sardonyx extract`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TEXT = "g (float[2] x) => (float[2] y) { a = Neg(x)  b = Abs(a)  y = Exp(b) }"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model_path = tmp_path / "m.onnx"
    sx.save(parse_model(TEXT), model_path)
    return model_path


def test_the_part_is_written(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("part.onnx")
    words = ["extract", str(path), "--input", "a", "--output", "b", "-o", str(out), "--json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == [{"name": "a", "type": "float[2]"}]
    assert (report["nodes"], report["nodes_before"]) == (1, 3)
    assert [n.op_type for n in sx.load(out).graph.nodes] == ["Abs"]


def test_notes_are_reported(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("part.onnx")
    assert main(["extract", str(path), "--input", "b", "--input", "x", "-o", str(out)]) == 0
    assert capsys.readouterr().err == "sardonyx: note: graph.input: 'x' reaches none of the outputs\n"


def test_a_wrong_name_is_wrong_use(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("part.onnx")
    assert main(["extract", str(path), "--output", "bb", "-o", str(out)]) == 2
    assert "did you mean 'b'?" in capsys.readouterr().err
    assert not out.exists()


NESTED = """
    g (int64 n, bool go, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
        [loop] y = Loop(n, go, x) <body = step (int64 i, bool c, float[2] s) => (bool d, float[2] r) {
            d = Identity(c) t = Add(s, w) u = Mul(t, x) r = Neg(u)
        }>
    }
"""


def test_a_part_of_a_nested_graph_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "part.onnx"
    sx.save(parse_model(NESTED), source)
    words = ["extract", str(source), "--graph", "loop.body", "--output", "u", "-o", str(out), "--json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert [port["name"] for port in report["inputs"]] == ["s", "x"]
    assert (report["nodes"], report["nodes_before"]) == (2, 4)
    feeds = {"s": np.array([1, 2], np.float32), "x": np.array([3, 4], np.float32)}
    (result,) = sx.Session(out, engine="reference").run(feeds).values()
    assert result.tolist() == [6, 16]


def test_a_graph_that_the_model_lacks_is_wrong_use(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = path.with_name("part.onnx")
    assert main(["extract", str(path), "--graph", "loop.body", "-o", str(out)]) == 2
    assert "graph must be the label or name of a graph; got 'loop.body'" in capsys.readouterr().err
    assert not out.exists()
