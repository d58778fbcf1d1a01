"""`sardonyx run`: every kind of input and output file, and errors for invalid files."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

TWO = "g (float[N] x, int64[M] i) => (float[N] y, int64[M] j) { y = Identity(x)  j = Identity(i) }"
ONE = "g (float[N] x) => (float[N] y) { y = Identity(x) }"
Streams = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("one", ONE), ("two", TWO)):
        (tmp_path / f"{name}.onnx").write_bytes(encode(parse_record(text)))
    return tmp_path


def call(*words: object) -> int:
    return main([str(w) for w in words])


def npy(values: list[float]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values, np.float32))
    return file.getvalue()


def tensor(values: list[float]) -> bytes:
    return encode(m.TensorProto(dims=[len(values)], data_type=1, float_data=values))


# --- inputs ----------------------------------------------------------------------------------


def test_a_json_file_holds_all_inputs(folder: Path, capsys: Streams) -> None:
    (folder / "in.json").write_text('{"x": [1, "NaN", "-Infinity"], "i": [2]}')
    assert call("run", folder / "two.onnx", folder / "in.json", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"y": [1.0, "NaN", "-Infinity"], "j": [2]}


def test_what_is_printed_as_json_can_be_fed_again(folder: Path, capsys: Streams) -> None:
    assert call("run", folder / "one.onnx", 'x=["NaN", 1.5, "Infinity"]', "-o", folder / "out.json") == 0
    capsys.readouterr()
    (folder / "again.json").write_text((folder / "out.json").read_text().replace('"y"', '"x"'))
    assert call("run", folder / "one.onnx", folder / "again.json", "--json") == 0
    assert capsys.readouterr().out == (folder / "out.json").read_text()


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("x.npy", b"nothing of NumPy's", "x.npy: "),
        ("x.npy", b"", "x.npy: "),
        ("in.npz", b"PK\x03\x04 but no archive", "in.npz: "),
        ("in.npz", npy([1.0]), "in.npz must be an archive of named arrays"),
        ("in.json", b'{"x": [1', "in.json must be a JSON document"),
        ("in.json", b"\xff", "in.json must be a JSON document"),
        ("in.json", b"[" * 100_000, "in.json must be a JSON document"),
    ],
)
def test_a_broken_input_file_is_wrong_use(
    folder: Path, capsys: Streams, name: str, content: bytes, match: str
) -> None:
    (folder / name).write_bytes(content)
    word = f"x={folder / name}" if name == "x.npy" else str(folder / name)
    assert call("run", folder / "one.onnx", word) == 2
    error = capsys.readouterr().err
    assert match in error
    assert error.count("\n") == 1


def test_a_broken_message_is_a_finding(folder: Path, capsys: Streams) -> None:
    (folder / "x.pb").write_bytes(b"\x08")
    assert call("run", folder / "one.onnx", f"x={folder / 'x.pb'}") == 1
    assert "x.pb: byte" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ([], "no input_0.pb"),
        (["input_x.pb"], "without gaps; got input_x.pb"),
        (["input_0.pb", "input_2.pb"], "without gaps; got input_2.pb"),
        (["input_0.pb", "input_1.pb"], "must have at most 1 input files, one per input; got 2"),
    ],
)
def test_a_folder_holds_the_inputs_in_order(
    folder: Path, capsys: Streams, names: list[str], match: str
) -> None:
    (folder / "data").mkdir()
    for name in names:
        (folder / "data" / name).write_bytes(tensor([1.0]))
    assert call("run", folder / "one.onnx", folder / "data") == 2
    assert match in capsys.readouterr().err


def test_ten_and_more_files_are_in_the_order_of_their_numbers(tmp_path: Path, capsys: Streams) -> None:
    inputs = ", ".join(f"float[1] x{i}" for i in range(11))
    (tmp_path / "m.onnx").write_bytes(
        encode(parse_record(f"g ({inputs}) => (float[1] y) {{ y = Identity(x10) }}"))
    )
    (tmp_path / "data").mkdir()
    for i in range(11):
        (tmp_path / f"data/input_{i}.pb").write_bytes(tensor([float(i)]))
    assert call("run", tmp_path / "m.onnx", tmp_path / "data", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"y": [10.0]}


# --- random ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--random", 0, "--dim", "K=2"], "a dimension variable must be one of 'N'; got 'K'"),
        (["x=[1]", "--dim", "N=2"], "add --random SEED"),
        (["--random", 0, "--dim", "N=99999999999"], "must have at most 1073741824 elements"),
        (["--random", 0, "--output", "z"], "must be an output of the model; got 'z'"),
    ],
)
def test_what_cannot_be_made_is_wrong_use(
    folder: Path, capsys: Streams, words: list[object], match: str
) -> None:
    assert call("run", folder / "one.onnx", *words) == 2
    assert match in capsys.readouterr().err


def test_a_name_like_an_expression_has_its_own_size(tmp_path: Path, capsys: Streams) -> None:
    text = 'g (float["batch-size"] x, float[N] a, float["2*N"] b) => (float["batch-size"] y, float["2*N"] c) { y = Neg(x)  c = Neg(b) }'
    (tmp_path / "m.onnx").write_bytes(encode(parse_record(text)))
    assert (
        call("run", tmp_path / "m.onnx", "--random", 0, "--dim", "batch-size=3", "--dim", "N=2", "--json")
        == 0
    )
    out = json.loads(capsys.readouterr().out)
    assert (len(out["y"]), len(out["c"])) == (3, 4)
    assert call("run", tmp_path / "m.onnx", "--random", 0, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["y"]) == 1


# --- outputs ---------------------------------------------------------------------------------


def test_one_output_is_saved_as_a_message(folder: Path) -> None:
    assert call("run", folder / "one.onnx", "x=[1, 2]", "-o", folder / "y.pb") == 0
    tensor = decode((folder / "y.pb").read_bytes(), m.TensorProto)
    assert (tensor.name, tensor.dims) == ("y", [2])


@pytest.mark.parametrize("name", ["y.npy", "y.pb"])
def test_two_outputs_do_not_fit_a_file_of_one(folder: Path, capsys: Streams, name: str) -> None:
    assert call("run", folder / "two.onnx", "--random", 0, "-o", folder / name) == 2
    assert "must have one output; got 2" in capsys.readouterr().err


def test_an_element_type_that_numpy_cannot_store_is_refused(tmp_path: Path, capsys: Streams) -> None:
    text = "g (bfloat16[1] x) => (bfloat16[1] y) { y = Identity(x) }"
    (tmp_path / "m.onnx").write_bytes(encode(parse_record(text)))
    assert call("run", tmp_path / "m.onnx", "--random", 0, "-o", tmp_path / "y.npz") == 2
    assert (
        "output 'y' must have a NumPy type to be saved as .npz; got bfloat16; save to a folder"
        in capsys.readouterr().err
    )
    assert call("run", tmp_path / "m.onnx", "x=[1.5]", "-o", tmp_path / "out") == 0
    tensor = decode((tmp_path / "out/output_0.pb").read_bytes(), m.TensorProto)
    assert bytes(tensor.raw_data) == np.array([1.5], ml_dtypes.bfloat16).tobytes()


def test_a_result_that_breaks_the_model_s_own_word_is_a_finding(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "m.onnx").write_bytes(encode(parse_record("g (float[2] x) => (float[3] y) { y = Neg(x) }")))
    assert call("run", tmp_path / "m.onnx", "--random", 0, "--shapes", "strict") == 1
    assert capsys.readouterr().err.startswith(
        f"sardonyx: {tmp_path}/m.onnx: output 'y' axis 0 must have length 3"
    )


def test_every_kind_of_element_is_printed(tmp_path: Path, capsys: Streams) -> None:
    text = """g () => (float[3] f, string[1] s, int4[2] i, complex64[1] c, bool b) <int4[2] i = {33}, complex64[1] c = {1, 2}> {
      f = Constant <value = float[3] {nan, inf, -1.5}> ()  s = Constant <value_strings = ["a"]> ()  b = Constant <value = bool {1}> ()
    }"""
    (tmp_path / "m.onnx").write_bytes(encode(parse_record(text)))
    assert call("run", tmp_path / "m.onnx", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "f": ["NaN", "Infinity", -1.5],
        "s": ["a"],
        "i": [1, 2],
        "c": [[1.0, 2.0]],
        "b": True,
    }
    assert call("run", tmp_path / "m.onnx") == 0
    out = capsys.readouterr().out
    assert "s: string[1]\n['a']\n" in out
    assert "i: int4[2]\n[1 2]\n" in out


# --- progress --------------------------------------------------------------------------------


def test_progress_is_shown_to_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    monkeypatch.setattr("sardonyx._src.cli.output.progress.BAR_DELAY", 0.0)
    with progress(2) as advance:
        advance()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    shown, end = "", time.monotonic() + 20
    with progress(2) as advance:
        advance()
        while "1/2" not in shown and time.monotonic() < end:
            time.sleep(0.05)
            shown += capsys.readouterr().err
    assert "1/2" in shown


def test_operator_sets_serve_a_model(tmp_path: Path, capsys: Streams) -> None:
    square = parse_function('<domain: "com.x", opset_import: ["": 21]> Square (x) => (y) { y = Mul(x, x) }')
    document = m.OperatorSetProto(magic="ONNXOPSET", ir_version=10, domain="com.x", opset_version=3)
    document.operator = [m.OperatorProto(op_type="Square", since_version=1)]
    document.functions = [square]
    (tmp_path / "set.onnxopset").write_bytes(encode(document))
    sx.save_operator_set(sx.load_operator_set(tmp_path / "set.onnxopset"), tmp_path / "set.onnxtxt")
    model = parse_record("g (float[N] x) => (float[N] y) { y = com.x.Square(x) }", more='"com.x": 3')
    (tmp_path / "m.onnx").write_bytes(encode(model))
    assert call("run", tmp_path / "m.onnx", "x=[3]") == 1
    assert "com.x.Square" in capsys.readouterr().err
    for name in ("set.onnxopset", "set.onnxtxt"):
        assert call("run", tmp_path / "m.onnx", "x=[3]", "--operator-set", tmp_path / name, "--json") == 0
        assert json.loads(capsys.readouterr().out) == {"y": [9.0]}
    assert call("run", tmp_path / "m.onnx", "x=[3]", "--operator-set", tmp_path / "none") == 2


# --- messages of values that are no tensors ----------------------------------------------------

VALUES = {
    "optional(float[2])": ("[1, 2]", m.OptionalProto, m.SequenceProtoDataType.TENSOR, [1, 2]),
    "optional(seq(float[2]))": ("[[1, 2]]", m.OptionalProto, m.SequenceProtoDataType.SEQUENCE, [[1, 2]]),
    "optional(int64)": ("null", m.OptionalProto, None, None),
    "seq(float[2])": ("[[1, 2], [3, 4]]", m.SequenceProto, m.SequenceProtoDataType.TENSOR, [[1, 2], [3, 4]]),
    "seq(seq(float[2]))": ("[]", m.SequenceProto, m.SequenceProtoDataType.SEQUENCE, []),
    "seq(map(int64, float))": ("[]", m.SequenceProto, m.SequenceProtoDataType.MAP, []),
}


@pytest.mark.parametrize("type", VALUES)
def test_a_file_has_the_message_of_the_declared_type(type: str, tmp_path: Path, capsys: Streams) -> None:
    literal, message, kind, value = VALUES[type]
    path = tmp_path / "m.onnx"
    path.write_bytes(encode(parse_record(f"g ({type} x) => ({type} y) {{ y = Identity(x) }}")))
    assert call("run", path, f"x={literal}", "-o", tmp_path / "y.pb") == 0
    record = decode((tmp_path / "y.pb").read_bytes(), message)
    assert isinstance(record, m.OptionalProto | m.SequenceProto)
    assert record.elem_type == (kind or 0) and record.name == "y"
    capsys.readouterr()
    assert call("run", path, f"x={tmp_path / 'y.pb'}", "--json") == 0  # read by the same type
    assert json.loads(capsys.readouterr().out) == {"y": value}
    (tmp_path / "y.pb").rename(tmp_path / "input_0.pb")
    assert call("run", path, tmp_path, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out/output_0.pb").read_bytes() == (tmp_path / "input_0.pb").read_bytes()


def test_an_optional_is_read_by_the_wheel(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import numpy_helper

    path = tmp_path / "m.onnx"
    path.write_bytes(
        encode(parse_record("g (optional(float[2]) x) => (optional(float[2]) y) { y = Identity(x) }"))
    )
    for literal, expected in (("[1, 2]", [1, 2]), ("null", None)):
        assert call("run", path, f"x={literal}", "-o", tmp_path / "y.pb") == 0
        record = onnx.OptionalProto.FromString((tmp_path / "y.pb").read_bytes())
        value = numpy_helper.to_optional(record)
        assert (None if value is None else value.tolist()) == expected


def test_a_map_keeps_the_type_of_its_keys(tmp_path: Path, capsys: Streams) -> None:
    text = """g (float[1,2] x) => (seq(map(int64, float)) y)
      { y = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (x) }"""
    path = tmp_path / "m.onnx"
    path.write_bytes(encode(parse_record(text, more='"ai.onnx.ml": 1')))
    assert call("run", path, "x=[[0.25, 0.75]]", "-o", tmp_path / "y.pb") == 0
    (record,) = decode((tmp_path / "y.pb").read_bytes(), m.SequenceProto).map_values
    assert (record.key_type, list(record.keys)) == (7, [3, 5])
    assert record.values is not None and len(record.values.tensor_values) == 2
