"""Operator-set documents that are found in folders by domain and version."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.errors import DecodeError, InvalidModel, JsonError, TextError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.json import to_json
from sardonyx._src.proto.text import to_text

CALL = "g (float[N] x) => (float[N] y) { y = com.example.Scaled(x) }"
X = np.array([3], np.float32)


def document(
    factor: int = 2, version: int = 1, domain: str = "com.example", body: str = ""
) -> m.OperatorSetProto:
    """A set whose function Scaled multiplies by `factor`, or has this body."""
    body = body or f"k = Constant <value = float {{{factor}}}> () y = Mul(x, k)"
    header = f'<domain: "{domain}", opset_import: ["": 21, "com.other": 5]>'
    return m.OperatorSetProto(
        magic="ONNXOPSET",
        ir_version=10,
        domain=domain,
        opset_version=version,
        operator=[m.OperatorProto(op_type="Declared", since_version=1)],
        functions=[parse_function(f"{header} Scaled (x) => (y) {{ {body} }}")],
    )


def folder(path: Path, *documents: m.OperatorSetProto) -> str:
    path.mkdir()
    (path / "notes.md").write_text("no document")
    (path / "inner").mkdir()
    for i, record in enumerate(documents):
        (path / f"set{i}.bin").write_bytes(encode(record))
    return str(path)


def model(version: int = 1) -> m.ModelProto:
    return parse_record(CALL, more=f'"com.example": {version}')


def result(version: int = 1, **options: object) -> float:
    session = sx.Session(model(version), **options)  # type: ignore[arg-type]
    return float(np.asarray(session.run({"x": X})["y"])[0])


def test_a_document_is_chosen_by_domain_and_version(tmp_path: Path) -> None:
    path = folder(tmp_path / "sets", document(2, 1), document(5, 2), document(7, 1, "com.other"))
    assert result(1, operator_sets=[path]) == 6
    assert result(2, operator_sets=[Path(path)]) == 15


def test_a_set_of_another_version_is_not_used_and_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder(tmp_path / "sets", document(2, 1), document(5, 2), document(7, 3, "com.other"))
    with pytest.raises(sx.UnsupportedOperator, match=r"com\.example\.Scaled"):
        sx.Session(model(3), operator_sets=[path])
    expected = [
        f"the model imports version 3 of 'com.example'; {path} has version {version}, which is not used"
        for version in (1, 2)
    ]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == expected
    assert [n.message for n in sx.load(model(3), operator_sets=[path]).notes] == expected
    assert sx.load(model(2), operator_sets=[path]).notes == []


def test_the_first_folder_counts_and_the_environment_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = folder(tmp_path / "a", document(2)), folder(tmp_path / "b", document(5))
    assert result(operator_sets=[first, second]) == 6
    assert result(operator_sets=[second, first]) == 15
    monkeypatch.setenv("SARDONYX_OPERATOR_SETS", os.pathsep.join((str(tmp_path / "missing"), second, first)))
    assert result() == 15
    assert result(operator_sets=[first]) == 6


def test_documents_and_functions_of_the_model_take_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_OPERATOR_SETS", folder(tmp_path / "a", document(2)))
    assert result(operator_sets=[encode(document(5))]) == 15
    own = model()
    own.functions = [document(7).functions[0]]
    assert np.asarray(sx.Session(own).run({"x": X})["y"])[0] == 21


def test_functions_that_are_not_called_are_not_added(tmp_path: Path) -> None:
    path = folder(tmp_path / "a", document(2))
    record = parse_record("g (float[N] x) => (float[N] y) { y = Abs(x) }", more='"com.example": 1')
    assert sx.load(record, operator_sets=[path]).functions == {}


def test_a_set_that_another_one_calls_is_found(tmp_path: Path) -> None:
    calling = document(body="y = com.other.Scaled(x)")
    first = folder(tmp_path / "a", calling)
    second = folder(tmp_path / "b", document(9, 5, "com.other"))
    assert result(operator_sets=[first, second]) == 27


@pytest.mark.parametrize("suffix", ["onnxopset", "onnxtxt", "json"])
def test_documents_in_every_format_are_found(tmp_path: Path, suffix: str) -> None:
    path = Path(folder(tmp_path / "a"))
    contents = {
        "onnxopset": encode(document()),
        "onnxtxt": to_text(document()).encode(),
        "json": to_json(document()).encode(),
    }
    (path / f"set.{suffix}").write_bytes(contents[suffix])
    assert result(operator_sets=[path]) == 6


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("s.onnxopset", b"\x08", DecodeError),
        ("s.bin", encode(document())[:-3], DecodeError),
        ("s.onnxtxt", b'{magic: "ONNXOPSET"', TextError),
        ("s.json", b'{"magic": "ONNXOPSET", "x": 1}', JsonError),
        ("s.bin", encode(m.OperatorSetProto(magic="ONNXOPSET", domain="com.example")), InvalidModel),
    ],
)
def test_a_damaged_document_is_an_error_that_names_it(
    tmp_path: Path, name: str, content: bytes, error: type[Exception]
) -> None:
    path = Path(folder(tmp_path / "a"))
    (path / name).write_bytes(content)
    with pytest.raises(error, match=name):
        sx.load(model(), operator_sets=[path])


def test_two_documents_of_one_set_are_an_error(tmp_path: Path) -> None:
    path = folder(tmp_path / "a", document(2), document(5))
    with pytest.raises(InvalidModel, match=r"'com.example' must be in one document.*set0.bin and set1.bin"):
        sx.load(model(), operator_sets=[path])


def test_the_checker_searches_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "a", document())
    record = parse_record(
        "g (float[N] x) => (float[N] y) { y = com.example.Declared(x) }", more='"com.example": 1'
    )
    assert [d.rule for d in sx.check(record).of("warning") if d.rule == "SX202"] == ["SX202"]
    assert not [d for d in sx.check(record, operator_sets=[path]).diagnostics if d.rule == "SX202"]
    monkeypatch.setenv("SARDONYX_OPERATOR_SETS", path)
    assert not [d for d in sx.check(record).diagnostics if d.rule == "SX202"]


def test_a_pickled_session_searches_again(tmp_path: Path) -> None:
    path = folder(tmp_path / "a", document())
    (tmp_path / "m.onnx").write_bytes(encode(model()))
    session = sx.Session(tmp_path / "m.onnx", operator_sets=[path])
    again = pickle.loads(pickle.dumps(session))
    assert np.asarray(again.run({"x": X})["y"])[0] == 6


def test_a_changed_document_is_read_by_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(folder(tmp_path / "a", document(2)))
    (tmp_path / "m.onnx").write_bytes(encode(model()))
    monkeypatch.setenv("SARDONYX_OPERATOR_SETS", str(path))
    for factor in (2, 5):
        (path / "set0.bin").write_bytes(encode(document(factor)))
        assert np.asarray(sx.Session(tmp_path / "m.onnx").run({"x": X})["y"])[0] == 3 * factor


@pytest.mark.parametrize(
    "words",
    [
        ["run", "m.onnx", "x=[3.0]"],
        ["inline", "m.onnx", "-o", "n.onnx"],
        ["show", "m.onnx"],
        ["infer", "m.onnx"],
    ],
)
def test_verbs_take_the_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = folder(tmp_path / "a", document())
    (tmp_path / "m.onnx").write_bytes(encode(model()))
    assert main([*words, "--operator-set-path", f"{path}{os.pathsep}{tmp_path}"]) == 0
    assert main([*words, "--operator-set-path", "missing"]) == 2
    assert "--operator-set-path must be existing folders; got missing" in capsys.readouterr().err
