"""Operator-set documents: read, written, exported, and serving models that import their domains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.loading.operator_sets import load_operator_set
from sardonyx._src.io.saving.operator_sets import onnx_operator_set, operator_set_to, save_operator_set
from sardonyx._src.ir.operator_set import OperatorStatus
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

SQUARE = '<domain: "com.example", opset_import: ["": 21]> Square (x) => (y) { y = Mul(x, x) }'
CALL = "g (float[N] x) => (float[N] y) { y = com.example.Square(x) }"


def document(**fields: object) -> m.OperatorSetProto:
    plain: dict[str, object] = {
        "magic": "ONNXOPSET",
        "ir_version": 10,
        "domain": "com.example",
        "opset_version": 3,
    }
    operator_set = m.OperatorSetProto(**{**plain, **fields})
    operator_set.operator = [
        m.OperatorProto(op_type="Square", since_version=2, status=0, doc_string="x times x")
    ]
    operator_set.functions = [parse_function(SQUARE)]
    return operator_set


@pytest.mark.parametrize("name", ["set.onnxopset", "set.onnxtxt"])
def test_a_document_comes_back_from_a_file(tmp_path: Path, name: str) -> None:
    first = load_operator_set(encode(document()))
    save_operator_set(first, tmp_path / name)
    again = load_operator_set(tmp_path / name)
    assert operator_set_to(again) == operator_set_to(first) == document()
    assert (again.domain, again.version) == ("com.example", 3)
    assert again.operators[0].status is OperatorStatus.EXPERIMENTAL


def test_its_functions_serve_a_model_that_imports_its_domain() -> None:
    session = sx.Session(parse_record(CALL, more='"com.example": 3'), operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 9


def test_without_it_the_operator_is_unsupported() -> None:
    with pytest.raises(sx.UnsupportedOperator, match=r"com\.example\.Square"):
        sx.Session(parse_record(CALL, more='"com.example": 3'))


def test_another_version_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"'com\.example' must be of the imported version 4; got 3"):
        sx.load(parse_record(CALL, more='"com.example": 4'), operator_sets=[encode(document())])


def test_a_model_that_does_not_import_the_domain_stays_as_it_is() -> None:
    model = sx.load(
        parse_record("g (float[1] x) => (float[1] y) { y = Abs(x) }"), operator_sets=[encode(document())]
    )
    assert model.functions == {}


def test_a_function_of_the_model_comes_first() -> None:
    record = parse_record(CALL, more='"com.example": 3')
    record.functions = [parse_function(SQUARE.replace("Mul", "Add"))]
    session = sx.Session(record, operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 6


@pytest.mark.parametrize(
    ("fields", "match"),
    [({"magic": "ONNX"}, "magic"), ({"magic": ""}, "magic")],
)
def test_a_document_without_its_magic_is_refused(fields: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        load_operator_set(encode(document(**fields)))


def test_a_document_without_version_is_refused() -> None:
    operator_set = document()
    operator_set.clear("opset_version")
    with pytest.raises(InvalidModel, match="must have a version"):
        load_operator_set(encode(operator_set))


def test_a_published_set_lists_what_its_version_has() -> None:
    versions = {o.op_type: o.since_version for o in onnx_operator_set("ai.onnx", 18).operators}
    assert versions["Softmax"] == 13
    assert versions["Split"] == 18
    assert "Gelu" not in versions  # since 20
    assert "Upsample" not in versions  # deprecated since 10
    assert versions["GroupNormalization"] == 18  # deprecated later, when 21 replaced it
    assert onnx_operator_set("", 18).ir_version == 8


@pytest.mark.parametrize(
    ("domain", "version", "name"),
    [("", 10, "Upsample"), ("", 11, "Scatter"), ("ai.onnx.ml", 5, "TreeEnsembleRegressor")],
)
def test_an_operator_is_listed_until_it_ends(domain: str, version: int, name: str) -> None:
    before, after = (
        {o.op_type for o in onnx_operator_set(domain, v).operators} for v in (version - 1, version)
    )
    assert name in before
    assert name not in after


def test_a_set_that_was_never_published_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"ai\.onnx 1 to 29"):
        onnx_operator_set("ai.onnx", 99)
    with pytest.raises(InvalidModel, match=r"an operator set must be one of .*; got com\.example 1"):
        onnx_operator_set("com.example", 1)


def test_an_exported_set_is_read_by_protobuf() -> None:
    from onnx import onnx_operators_ml_pb2

    data = encode(operator_set_to(onnx_operator_set("ai.onnx.ml", 5)))
    operator_set = onnx_operators_ml_pb2.OperatorSetProto.FromString(data)
    assert (operator_set.magic, operator_set.domain, operator_set.opset_version) == (
        "ONNXOPSET",
        "ai.onnx.ml",
        5,
    )
    assert {o.op_type for o in operator_set.operator} >= {"TreeEnsemble", "Scaler"}


def test_a_set_serves_a_model_that_is_loaded_already() -> None:
    model = sx.load(parse_record(CALL, more='"com.example": 3'))
    session = sx.Session(model, operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 9


def test_a_set_may_rely_on_another_one_in_any_order() -> None:
    outer = document(domain="com.outer", opset_version=1)
    outer.operator = [m.OperatorProto(op_type="Fourth", since_version=1)]
    body = "(x) => (y) { s = com.example.Square(x)  y = com.example.Square(s) }"
    outer.functions = [
        parse_function(f'<domain: "com.outer", opset_import: ["com.example": 3]> Fourth {body}')
    ]
    record = parse_record("g (float[N] x) => (float[N] y) { y = com.outer.Fourth(x) }", more='"com.outer": 1')
    for sets in ([document(), outer], [outer, document()]):
        session = sx.Session(record, operator_sets=[encode(s) for s in sets])
        assert session.run({"x": np.array([3.0], np.float32)})["y"] == 81


def test_another_version_than_a_function_imports_is_refused() -> None:
    record = parse_record("g (float[N] x) => (float[N] y) { y = l.f(x) }", more='"l": 1')
    record.functions = [
        parse_function(
            '<domain: "l", opset_import: ["com.example": 2]> f (x) => (y) { y = com.example.Square(x) }'
        )
    ]
    with pytest.raises(InvalidModel, match=r"'com\.example' must be of the imported version 2; got 3"):
        sx.load(record, operator_sets=[encode(document())])
