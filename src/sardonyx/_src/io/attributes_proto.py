"""Attributes between records and IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, cast

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.metadata_proto import keep_unknown
from sardonyx._src.io.tensors_proto import External, Place, sparse_from, sparse_to, tensor_from, tensor_to
from sardonyx._src.io.types_proto import type_from, type_to
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, AttributeScalar, AttributeValue, Graph, Note
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

FIELD_OF = {
    AttributeType.FLOAT: "f",
    AttributeType.INT: "i",
    AttributeType.STRING: "s",
    AttributeType.TENSOR: "t",
    AttributeType.GRAPH: "g",
    AttributeType.SPARSE_TENSOR: "sparse_tensor",
    AttributeType.TYPE_PROTO: "tp",
    AttributeType.FLOATS: "floats",
    AttributeType.INTS: "ints",
    AttributeType.STRINGS: "strings",
    AttributeType.TENSORS: "tensors",
    AttributeType.GRAPHS: "graphs",
    AttributeType.SPARSE_TENSORS: "sparse_tensors",
    AttributeType.TYPE_PROTOS: "type_protos",
}
TYPE_OF = {name: type for type, name in FIELD_OF.items()}
ReadGraph: TypeAlias = Callable[[m.GraphProto, str], Graph]
WriteGraph: TypeAlias = Callable[[Graph, Place], m.GraphProto]


class Reading(Protocol):
    """What reading an attribute needs of the model around it."""

    external: External
    notes: list[Note]
    in_function: bool


def attribute_from(record: m.AttributeProto, reading: Reading, graph: ReadGraph, where: str) -> Attribute:
    """The attribute of a record; raises InvalidModel where its type and its value contradict each other."""
    type = attribute_type(record, where)
    if record.ref_attr_name:
        if not reading.in_function:
            what = f"attribute {record.name!r} refers to a function's attribute, outside of a function"
            raise InvalidModel(what, location=where)
        attribute = Attribute(record.name, type, None, ref=record.ref_attr_name)
    else:
        attribute = Attribute(record.name, type, value_from(record, type, reading, graph, where))
    if record.has("doc_string"):
        attribute.doc = record.doc_string
    if record.has("_unknown"):
        attribute.unknown = record.unknown
    return attribute


def attribute_type(record: m.AttributeProto, where: str) -> AttributeType:
    """The stated type, or in files of IR version 1, which state none, that of the field that is filled."""
    if record.type:
        try:
            return AttributeType(record.type)
        except ValueError:
            what = f"attribute {record.name!r} has type {record.type}, which is not defined"
            raise InvalidModel(what, location=where) from None
    if record.ref_attr_name:
        return AttributeType.UNDEFINED
    filled = [f.name for f, _ in record.present() if f.name in TYPE_OF]
    if len(filled) != 1:
        what = (
            f"attribute {record.name!r} has no type, and {' and '.join(filled) or 'no field'} to tell it from"
        )
        raise InvalidModel(what, location=where)
    return TYPE_OF[filled[0]]


def value_from(
    record: m.AttributeProto, type: AttributeType, reading: Reading, graph: ReadGraph, where: str
) -> AttributeValue:
    name = FIELD_OF[type]
    if not record.has(name):
        return absent_value(record, type, where)
    value = getattr(record, name)
    if type is AttributeType.INTS or type is AttributeType.FLOATS:
        return tuple(value)
    if type is AttributeType.INT or type is AttributeType.FLOAT:
        return cast("int | float", value)
    where = f"{where} attribute {record.name!r}"
    if type is AttributeType.GRAPH:
        return graph(cast(m.GraphProto, value), where)
    if type.is_list:
        parts = enumerate(cast("list[object]", value))
        return tuple(scalar_from(v, reading, graph, f"{where}[{i}]") for i, v in parts)
    return scalar_from(value, reading, graph, where)


def absent_value(record: m.AttributeProto, type: AttributeType, where: str) -> AttributeValue:
    """What a typed attribute without a value means: an empty list, or the zero that proto3 does not write."""
    others = [f.name for f, _ in record.present() if f.name in TYPE_OF]
    if others:
        what = f"attribute {record.name!r} is of type {type.name} but holds {' and '.join(others)}"
        raise InvalidModel(what, location=where)
    if type.is_list:
        return ()
    zeros: dict[AttributeType, AttributeValue] = {
        AttributeType.FLOAT: 0.0,
        AttributeType.INT: 0,
        AttributeType.STRING: b"",
    }
    if type not in zeros:
        raise InvalidModel(f"attribute {record.name!r} of type {type.name} holds nothing", location=where)
    return zeros[type]


def scalar_from(value: object, reading: Reading, graph: ReadGraph, where: str) -> AttributeScalar:
    match value:
        case bytes() | memoryview():
            return bytes(value)
        case m.TensorProto():
            return tensor_from(value, reading.external, reading.notes, where)
        case m.SparseTensorProto():
            return sparse_from(value, reading.external, reading.notes, where)
        case m.GraphProto():
            return graph(value, where)
        case m.TypeProto():
            type = type_from(value, where)
            if type is None:
                raise InvalidModel("the type says neither its kind nor its elements", location=where)
            return type
    raise AssertionError(f"{value!r} is a new kind of attribute value")


def attribute_to(attribute: Attribute, graph: WriteGraph, place: Place) -> m.AttributeProto:
    """The record of an attribute."""
    record = m.AttributeProto(name=attribute.name)
    if attribute.type:
        record.type = int(attribute.type)
    if attribute.ref:
        record.ref_attr_name = attribute.ref
    else:
        value = attribute.value
        parts = (
            [scalar_to(v, graph, place) for v in value]
            if isinstance(value, tuple)
            else scalar_to(value, graph, place)
        )
        record.set(FIELD_OF[attribute.type], parts)
    if attribute.doc:
        record.doc_string = attribute.doc
    keep_unknown(record, attribute.unknown)
    return record


def scalar_to(value: AttributeValue, graph: WriteGraph, place: Place) -> int | float | bytes | Record:
    match value:
        case int() | float() | bytes():
            return value
        case Tensor():
            return tensor_to(value, place)
        case SparseTensor():
            return sparse_to(value, place)
        case Graph():
            return graph(value, place)
        case None | tuple():
            raise AssertionError(f"{value!r} is not one value")
    return type_to(value)
