"""Operator-set documents: read, written, exported, and serving models that import their domains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import function, record
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.operator_sets import load_operator_set
from sardonyx._src.io.publish import operator_set_to, published, save_operator_set
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
    one = m.OperatorSetProto(**{**plain, **fields})
    one.operator = [m.OperatorProto(op_type="Square", since_version=2, status=0, doc_string="x times x")]
    one.functions = [function(SQUARE)]
    return one


@pytest.mark.parametrize("name", ["set.onnxopset", "set.onnxtxt"])
def test_a_document_comes_back_from_a_file(tmp_path: Path, name: str) -> None:
    first = load_operator_set(encode(document()))
    save_operator_set(first, tmp_path / name)
    again = load_operator_set(tmp_path / name)
    assert operator_set_to(again) == operator_set_to(first) == document()
    assert (again.domain, again.version) == ("com.example", 3)
    assert again.operators[0].status is OperatorStatus.EXPERIMENTAL


def test_its_functions_serve_a_model_that_imports_its_domain() -> None:
    session = sx.Session(record(CALL, more='"com.example": 3'), operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 9


def test_without_it_the_operator_is_unsupported() -> None:
    with pytest.raises(sx.UnsupportedOperator, match=r"com\.example\.Square"):
        sx.Session(record(CALL, more='"com.example": 3'))


def test_another_version_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"version 3 of 'com\.example'; the model imports 4"):
        sx.load(record(CALL, more='"com.example": 4'), operator_sets=[encode(document())])


def test_a_model_that_does_not_import_the_domain_stays_as_it_is() -> None:
    found = sx.load(
        record("g (float[1] x) => (float[1] y) { y = Abs(x) }"), operator_sets=[encode(document())]
    )
    assert found.functions == {}


def test_a_function_of_the_model_comes_first() -> None:
    one = record(CALL, more='"com.example": 3')
    one.functions = [function(SQUARE.replace("Mul", "Add"))]
    session = sx.Session(one, operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 6


@pytest.mark.parametrize(
    ("fields", "match"),
    [({"magic": "ONNX"}, "magic"), ({"magic": ""}, "magic")],
)
def test_a_document_without_its_magic_is_refused(fields: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidModel, match=match):
        load_operator_set(encode(document(**fields)))


def test_a_document_without_version_is_refused() -> None:
    one = document()
    one.clear("opset_version")
    with pytest.raises(InvalidModel, match="states no version"):
        load_operator_set(encode(one))


def test_a_published_set_lists_what_its_version_has() -> None:
    found = {o.op_type: o.since_version for o in published("ai.onnx", 18).operators}
    assert found["Softmax"] == 13
    assert found["Split"] == 18
    assert "Gelu" not in found  # since 20
    assert "Upsample" not in found  # deprecated since 10
    assert published("", 18).ir_version == 8


def test_a_set_that_was_never_published_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"ai\.onnx 1 to 28"):
        published("ai.onnx", 99)
    with pytest.raises(InvalidModel, match=r"no operator set com\.example 1"):
        published("com.example", 1)


def test_an_exported_set_is_read_by_protobuf() -> None:
    from onnx import onnx_operators_ml_pb2

    data = encode(operator_set_to(published("ai.onnx.ml", 5)))
    found = onnx_operators_ml_pb2.OperatorSetProto.FromString(data)
    assert (found.magic, found.domain, found.opset_version) == ("ONNXOPSET", "ai.onnx.ml", 5)
    assert {o.op_type for o in found.operator} >= {"TreeEnsemble", "Scaler"}


def test_a_set_serves_a_model_that_is_loaded_already() -> None:
    found = sx.load(record(CALL, more='"com.example": 3'))
    session = sx.Session(found, operator_sets=[encode(document())])
    assert session.run({"x": np.array([3.0], np.float32)})["y"] == 9


def test_a_set_may_rely_on_another_one_in_any_order() -> None:
    outer = document(domain="com.outer", opset_version=1)
    outer.operator = [m.OperatorProto(op_type="Fourth", since_version=1)]
    body = "(x) => (y) { s = com.example.Square(x)  y = com.example.Square(s) }"
    outer.functions = [function(f'<domain: "com.outer", opset_import: ["com.example": 3]> Fourth {body}')]
    one = record("g (float[N] x) => (float[N] y) { y = com.outer.Fourth(x) }", more='"com.outer": 1')
    for sets in ([document(), outer], [outer, document()]):
        session = sx.Session(one, operator_sets=[encode(s) for s in sets])
        assert session.run({"x": np.array([3.0], np.float32)})["y"] == 81


def test_another_version_than_a_function_imports_is_refused() -> None:
    one = record("g (float[N] x) => (float[N] y) { y = l.f(x) }", more='"l": 1')
    one.functions = [
        function('<domain: "l", opset_import: ["com.example": 2]> f (x) => (y) { y = com.example.Square(x) }')
    ]
    with pytest.raises(InvalidModel, match=r"version 3 of 'com\.example'; the model imports 2"):
        sx.load(one, operator_sets=[encode(document())])
