"""`sardonyx show` and `ops`: truncated lists, names of data files, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode
from sardonyx._src.proto.json import from_json

Streams = pytest.CaptureFixture[str]


def call(*words: object) -> int:
    return main([str(w) for w in words])


def test_long_lists_are_cut_short_and_say_so(tmp_path: Path, capsys: Streams) -> None:
    inputs = ", ".join(f"float[1] x{i}" for i in range(200))
    sx.save(parse_model(f"g ({inputs}) => (float[1] y) {{ y = Neg(x0) }}"), tmp_path / "m.onnx")
    assert call("show", tmp_path / "m.onnx") == 0
    out = capsys.readouterr().out
    assert "x22: float[1]\n            and 177 more; use --full to list all\n" in out
    assert "x23" not in out
    assert call("show", tmp_path / "m.onnx", "--full") == 0
    assert "x199: float[1]" in capsys.readouterr().out
    assert call("show", tmp_path / "m.onnx", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["inputs"]) == 200


def test_long_texts_are_cut_short_and_say_so(tmp_path: Path, capsys: Streams) -> None:
    record = parse_record("g (float[1] x) => (float[1] y) { y = Neg(x) }")
    record.doc_string = "first\nsecond"
    record.metadata_props = [m.StringStringEntryProto(key="classes", value="abcde" * 1000)]
    (tmp_path / "m.onnx").write_bytes(encode(record))
    assert call("show", tmp_path / "m.onnx") == 0
    out = capsys.readouterr().out
    assert "doc               first\n                  second\n" in out
    assert "... (5000 characters; use --full to print all)" in out
    assert max(map(len, out.splitlines())) < 500


def test_data_files_are_named(tmp_path: Path, capsys: Streams) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1024])
    sx.save(
        b.model(y=b.Add(x, b.constant("w", np.ones(1024, np.float32)))), tmp_path / "m.onnx", external="w.bin"
    )
    (tmp_path / "w.bin").unlink()  # nothing is read
    assert call("show", tmp_path / "m.onnx") == 0
    assert (
        "weights     1.0 k elements in 1 tensor (float 1), 4.1 kB\n            1 of them in w.bin\n"
        in capsys.readouterr().out
    )


def test_a_line_has_no_blanks_at_its_end_and_is_never_wrapped(tmp_path: Path, capsys: Streams) -> None:
    name = "a_name_of_many_words_" * 10
    sx.save(parse_model(f"g (float[1] {name}) => (float[1] y) {{ y = Neg({name}) }}"), tmp_path / "m.onnx")
    assert call("show", tmp_path / "m.onnx") == 0
    out = capsys.readouterr().out
    assert f"{name}: float[1]\n" in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_the_file_of_an_invalid_model_is_named(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "m.onnx").write_bytes(encode(parse_record("g (float[1] x) => (float[1] z) { y = Neg(x) }")))
    assert call("show", tmp_path / "m.onnx") == 1
    assert capsys.readouterr().err.startswith(
        f"sardonyx: {tmp_path}/m.onnx: graph.output[0]: a graph output must be a value in scope; got 'z'"
    )


def test_types_of_inner_graphs_are_listed_under_their_node(tmp_path: Path, capsys: Streams) -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () => (p) { p = Abs(x) }>
    }"""
    sx.save(parse_model(text), tmp_path / "m.onnx")
    assert call("infer", tmp_path / "m.onnx") == 0
    assert capsys.readouterr().out == (
        "c: bool[]\nx: float[2]\ny: float[2]\n"
        "node[0] (If).then_branch:\n  p: float[2]\n"
        "node[0] (If).else_branch:\n  p: float[2]\n"
    )


# --- ops -------------------------------------------------------------------------------------


def test_a_signature_is_json_too(capsys: Streams) -> None:
    assert call("ops", "Conv", "--json") == 0
    newest = json.loads(capsys.readouterr().out)[-1]
    assert newest["inputs"][2] == {"name": "B", "type": "T", "option": "optional"}
    pad = next(a for a in newest["attributes"] if a["name"] == "auto_pad")
    assert pad == {"name": "auto_pad", "type": "STRING", "required": False, "default": "NOTSET"}


def test_an_exported_set_is_json_too(capsys: Streams) -> None:
    assert call("ops", "export", "ai.onnx.ml", 5, "--json") == 0
    operator_set = from_json(capsys.readouterr().out, m.OperatorSetProto)
    assert (operator_set.magic, operator_set.domain, operator_set.opset_version) == (
        "ONNXOPSET",
        "ai.onnx.ml",
        5,
    )


def test_an_exported_set_is_the_binary_document(tmp_path: Path) -> None:
    assert call("ops", "export", "ai.onnx", 18, "-o", tmp_path / "set") == 0
    assert decode((tmp_path / "set").read_bytes(), m.OperatorSetProto).opset_version == 18
