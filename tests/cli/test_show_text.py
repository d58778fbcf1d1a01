"""`sardonyx show --text` for documents other than models, and for models that cannot be loaded."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from check.examples import write
from check.test_check_pairs import PAIRS, Pair
from models import parse_record
from sardonyx._src.check.driver.sources import RECORD_CLASSES
from sardonyx._src.cli.main import main
from sardonyx._src.cli.verbs.show import KINDS
from sardonyx._src.io.saving.operator_sets import onnx_operator_set, operator_set_to, save_operator_set
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text, to_text

Streams = pytest.CaptureFixture[str]
TENSOR = m.TensorProto(dims=[2], data_type=1, raw_data=np.array([1, 2], np.float32).tobytes(), name="t")
DATA: dict[str, Record] = {
    "tensor": TENSOR,
    "sequence": m.SequenceProto(elem_type=1, tensor_values=[TENSOR, TENSOR]),
    "map": m.MapProto(
        key_type=7, keys=[3, 4], values=m.SequenceProto(elem_type=1, tensor_values=[TENSOR, TENSOR])
    ),
    "optional": m.OptionalProto(name="o", elem_type=1, tensor_value=TENSOR),
}


def show(path: Path, *words: str) -> int:
    return main(["show", str(path), "--text", *words])


@pytest.mark.parametrize("name", ["s.onnxopset", "s.bin", "s.onnxtxt", "s.json"])
def test_an_operator_set_document_is_printed(tmp_path: Path, name: str, capsys: Streams) -> None:
    operator_set = onnx_operator_set("ai.onnx.ml", 3)
    if name.endswith("json"):
        main(["ops", "export", "ai.onnx.ml", "3", "--json"])
        (tmp_path / name).write_text(capsys.readouterr().out)
    else:
        save_operator_set(operator_set, tmp_path / name)
    assert show(tmp_path / name) == 0
    assert from_text(capsys.readouterr().out, m.OperatorSetProto) == operator_set_to(operator_set)


@pytest.mark.parametrize("kind", DATA)
def test_stored_data_are_printed(tmp_path: Path, kind: str, capsys: Streams) -> None:
    (tmp_path / "input_0.pb").write_bytes(encode(DATA[kind]))
    assert show(tmp_path / "input_0.pb", "--kind", kind) == 0
    assert capsys.readouterr().out == to_text(DATA[kind]).rstrip("\n") + "\n"


@pytest.mark.parametrize("kind", ["tensor", "sequence", "map"])
def test_the_kind_of_data_follows_from_the_bytes(tmp_path: Path, kind: str, capsys: Streams) -> None:
    (tmp_path / "input_0.pb").write_bytes(encode(DATA[kind]))
    assert show(tmp_path / "input_0.pb") == 0
    assert capsys.readouterr().out == to_text(DATA[kind]).rstrip("\n") + "\n"


def test_a_model_may_have_the_suffix_of_data(tmp_path: Path, capsys: Streams) -> None:
    record = parse_record("g (float[N] x) => (float[N] y) { y = Abs(x) }")
    (tmp_path / "model.pb").write_bytes(encode(record))
    assert show(tmp_path / "model.pb") == 0
    assert "y = Abs(x)" in capsys.readouterr().out


def test_a_broken_model_is_printed_with_what_is_wrong(tmp_path: Path, capsys: Streams) -> None:
    record = parse_record("g (float[N] x) => (float[N] z) { y = Abs(w) }")
    (tmp_path / "m.onnx").write_bytes(encode(record))
    assert show(tmp_path / "m.onnx") == 1
    out, err = capsys.readouterr()
    assert from_text(out, m.ModelProto) == record
    assert "SX113" in err
    assert err.startswith(f"sardonyx: {tmp_path}/m.onnx: graph.")


def test_a_model_without_its_data_file_is_printed(tmp_path: Path, capsys: Streams) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1024])
    sx.save(
        b.model(y=b.Add(x, b.constant("w", np.ones(1024, np.float32)))), tmp_path / "m.onnx", external="w.bin"
    )
    (tmp_path / "w.bin").unlink()
    assert show(tmp_path / "m.onnx") == 1
    out, err = capsys.readouterr()
    assert '"location": "w.bin"' in out
    assert "w.bin" in err


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    class Input:
        buffer = io.BytesIO(encode(parse_record("g (float[N] x) => (float[N] z) { y = Abs(x) }")))

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["show", "-", "--text"]) == 1
    assert "y = Abs(x)" in capsys.readouterr().out


def test_bytes_that_do_not_decode_are_an_error(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x0a\xff")
    assert show(tmp_path / "m.onnx") == 1
    assert capsys.readouterr().err.startswith(f"sardonyx: {tmp_path}/m.onnx: byte")


def test_the_kinds_are_those_of_the_checker() -> None:
    assert list(KINDS) == list(RECORD_CLASSES)


def test_a_summary_is_of_models_only(tmp_path: Path, capsys: Streams) -> None:
    assert main(["show", str(tmp_path / "m.onnx"), "--kind", "tensor"]) == 2
    assert "--kind tensor requires --text" in capsys.readouterr().err


@pytest.mark.parametrize("pair", PAIRS[::7], ids=lambda pair: f"{pair.requirements[0]} {pair.variant}")
def test_every_invalid_document_that_decodes_is_printed(pair: Pair, tmp_path: Path, capsys: Streams) -> None:
    path, kind = write(pair.bad, tmp_path)
    code = show(path, "--kind", kind)
    out, err = capsys.readouterr()
    assert code in (0, 1)
    assert out or "sardonyx: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("m.onnx", b"\0bogus", "byte 0: a field number must be positive; got 0"),
        ("m.onnx", b"\x3a\x05\x0a\x03ab", r"byte 0 \(graph\): "),
        ("t.pb", b"\x4a\x7f", r"byte 0 \(raw_data\): "),
        ("m.json", b"{", "document: line 1, column 2: "),
        ("m.onnxtxt", b"g (", "1:4: expected a type"),
    ],
)
def test_what_does_not_decode_is_one_line(
    tmp_path: Path, capsys: Streams, name: str, content: bytes, line: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert show(path) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"sardonyx: ({re.escape(str(path))}:)? ?{line}[^\n]*\n", err), err
