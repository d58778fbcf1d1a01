"""Models of IR versions 1 and 2, which have no imports and, in version 1, no types of attributes, stay as they are."""

from __future__ import annotations

import io

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.ir import Attribute, Model
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode


def old_model(ir_version: int) -> m.ModelProto:
    """An If whose branch has an attribute, too."""
    kinds = {"type": 1} if ir_version > 1 else {}
    branch_node = m.NodeProto(
        input=["x"],
        output=["b"],
        op_type="LeakyRelu",
        attribute=[m.AttributeProto(name="alpha", f=0.5, **kinds)],
    )
    branch = m.GraphProto(node=[branch_node], name="branch", output=[info("b")])
    graph_kind = {"type": 5} if ir_version > 1 else {}
    node = m.NodeProto(
        input=["c"],
        output=["y"],
        op_type="If",
        attribute=[
            m.AttributeProto(name="then_branch", g=branch, **graph_kind),
            m.AttributeProto(name="else_branch", g=branch, **graph_kind),
        ],
    )
    graph = m.GraphProto(node=[node], name="g", input=[info("x"), info("c", 9)], output=[info("y")])
    return m.ModelProto(ir_version=ir_version, graph=graph)


def info(name: str, dtype: int = 1) -> m.ValueInfoProto:
    dims = [m.TensorShapeProtoDimension(dim_value=2)] if dtype == 1 else []
    shape = m.TensorShapeProto(dim=dims)
    return m.ValueInfoProto(
        name=name, type=m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=dtype, shape=shape))
    )


def save(model: sx.Model) -> m.ModelProto:
    return decode(encode_model(model), m.ModelProto)


def encode_model(model: sx.Model) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    sx.save(model, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("ir_version", [1, 2])
def test_they_are_written_as_they_came(ir_version: int) -> None:
    model = sx.load(encode(old_model(ir_version)))
    assert model.notes == []
    assert save(model) == old_model(ir_version)


@pytest.mark.parametrize("ir_version", [1, 2])
def test_what_their_version_lacks_is_kept_where_a_file_has_it(ir_version: int) -> None:
    record = old_model(ir_version)
    record.opset_import = [m.OperatorSetIdProto(version=1)]
    assert record.graph is not None
    record.graph.node[0].attribute[0].type = 5
    assert save(sx.load(encode(record))) == record


def test_a_new_attribute_of_ir_version_1_has_no_type() -> None:
    model = sx.load(encode(old_model(1)))
    next(iter(model.graph.nodes)).set_attribute(Attribute("axis", AttributeType.INT, 1))
    written = save(model)
    assert written.graph is not None
    assert written.graph.node[0].attribute[2] == m.AttributeProto(name="axis", i=1)


def test_conversion_adds_imports_and_types() -> None:
    model = sx.convert(sx.load(encode(old_model(1))), 6)
    written = save(model)
    assert written.ir_version == 3
    assert [(i.domain, i.version) for i in written.opset_import] == [("", 6)]
    assert written.graph is not None
    assert [a.type for a in written.graph.node[0].attribute] == [5, 5]


def test_an_attribute_without_a_type_is_noted_in_later_versions() -> None:
    record = old_model(1)
    record.ir_version = 3
    record.opset_import = [m.OperatorSetIdProto(version=1)]
    assert "has no type: it is of type FLOAT" in str(sx.load(encode(record)).notes[0])


@pytest.mark.parametrize("ir_version", [1, 2])
def test_imports_that_were_added_raise_the_ir_version_with_a_note(ir_version: int) -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Neg(x) }", ir=ir_version, opset=1)
    record.clear("opset_import")
    model = sx.load(record)
    assert saved(model) == (ir_version, [])
    model.opset_imports[""] = 6
    assert saved(model) == saved(model) == (3, [("", 6)])
    assert [str(note) for note in model.notes] == [
        f"ir_version: IR version {ir_version} has no imports of operator sets: the model is written as 3"
    ]
    assert model.ir_version == ir_version


def saved(model: Model) -> tuple[int, list[tuple[str, int]]]:
    file = io.BytesIO()
    sx.save(model, file)
    record = decode(file.getvalue(), m.ModelProto)
    return record.ir_version, [(entry.domain, entry.version) for entry in record.opset_import]
