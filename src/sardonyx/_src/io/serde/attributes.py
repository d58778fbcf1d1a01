"""Conversion of attributes between records and IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias, cast

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.details import is_default, own_details, restore
from sardonyx._src.io.serde.tensors import (
    ExternalData,
    Placement,
    sparse_from,
    sparse_to,
    tensor_from,
    tensor_to,
)
from sardonyx._src.io.serde.types import type_details, type_from, type_to
from sardonyx._src.ir import Attribute, AttributeScalar, AttributeValue, Graph, SparseTensor, Tensor
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.details import PartKey, SourceDetails
from sardonyx._src.ir.model import Note
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
SINGLE = ("f", "i", "s")  # the value fields that may be left out if they are zero or empty
# By type code, for values that can be read without context: the type, the field with the value, and its conversion.
PLAIN_FIELDS = {
    int(type): (type, FIELD_OF[type], read)
    for type, read in (
        (AttributeType.FLOAT, None),
        (AttributeType.INT, None),
        (AttributeType.STRING, bytes),
        (AttributeType.FLOATS, tuple),
        (AttributeType.INTS, tuple),
    )
}
ReadGraph: TypeAlias = Callable[[m.GraphProto, str], Graph]
WriteGraph: TypeAlias = Callable[[Graph, Placement], m.GraphProto]


class ReadContext(Protocol):
    """State of the enclosing model that reading an attribute requires."""

    external: ExternalData
    notes: list[Note]
    in_function: bool
    ir_version: int


def plain_attribute_from(record: m.AttributeProto) -> Attribute | None:
    """The attribute of a record with a name, a type and a number, numbers or a string; None for all others."""
    fields = record.__dict__
    if len(fields) != 3 or "name" not in fields or "type" not in fields:
        return None
    plain = PLAIN_FIELDS.get(fields["type"])
    if plain is None or (value := fields.get(plain[1])) is None:
        return None
    type, _, read = plain
    return Attribute(fields["name"], type, value if read is None else read(value))


def attribute_from(record: m.AttributeProto, context: ReadContext, graph: ReadGraph, where: str) -> Attribute:
    """The attribute of a record; raises InvalidModel if its type and its value contradict each other."""
    type = attribute_type(record, where)
    if record.ref_attr_name:
        if not context.in_function:
            what = f"a reference to a function attribute must be in a function body; got attribute {record.name!r} outside"
            raise InvalidModel(what, location=where)
        attribute = Attribute(record.name, type, None, ref=record.ref_attr_name)
    else:
        attribute = Attribute(record.name, type, value_from(record, type, context, graph, where))
    if record.has("doc_string"):
        attribute.doc = record.doc_string
    fields = record.__dict__
    if len(fields) != 3 or FIELD_OF.get(type) not in fields or not record.type or "name" not in fields:
        attribute.details = attribute_details(record, type, context, where)
    elif type is AttributeType.TYPE_PROTO or type is AttributeType.TYPE_PROTOS:
        attribute.details = own_details(record, ("name", "type"), type_parts(record))
    return attribute


def attribute_details(
    record: m.AttributeProto, type: AttributeType, context: ReadContext, where: str
) -> SourceDetails | None:
    """The details of an attribute; notes values that are ignored: of other types, and beside a reference."""
    value_field = "" if record.ref_attr_name else FIELD_OF[type]
    stated = [
        f.name for f, v in record.present() if f.name in TYPE_OF and f.name != value_field and not is_zero(v)
    ]
    if stated:
        kind = "a reference" if record.ref_attr_name else f"of type {type.name}"
        what = f"attribute {record.name!r} is {kind}: its value in {' and '.join(stated)} is ignored"
        context.notes.append(Note(where, what))
    if type and not record.type and context.ir_version >= 2:
        context.notes.append(Note(where, f"attribute {record.name!r} has no type: it is of type {type.name}"))
    always = ["name", *(["type"] if type else []), *([value_field] if value_field in SINGLE else [])]
    return own_details(record, always, type_parts(record))


def is_zero(value: object) -> bool:
    return isinstance(value, float | int | bytes) and is_default(value)


def type_parts(record: m.AttributeProto) -> Iterator[tuple[PartKey, SourceDetails]]:
    """The details of the types that an attribute holds."""
    if record.tp is not None and (part := type_details(record.tp)):
        yield PartKey("tp"), part
    if record.has("type_protos"):
        for i, type in enumerate(record.type_protos):
            if part := type_details(type):
                yield PartKey("type_protos", i, len(record.type_protos)), part


def attribute_type(record: m.AttributeProto, where: str) -> AttributeType:
    """The declared type, or that implied by the field that is set: IR version 1 declares none."""
    if record.type:
        try:
            return AttributeType(record.type)
        except ValueError:
            what = f"the type of attribute {record.name!r} must be a defined one; got {record.type}"
            raise InvalidModel(what, location=where) from None
    if record.ref_attr_name:
        return AttributeType.UNDEFINED
    filled = [f.name for f, _ in record.present() if f.name in TYPE_OF]
    if len(filled) != 1:
        actual = " and ".join(filled) or "none"
        what = f"attribute {record.name!r} without a type must have exactly one value field; got {actual}"
        raise InvalidModel(what, location=where)
    return TYPE_OF[filled[0]]


def value_from(
    record: m.AttributeProto, type: AttributeType, context: ReadContext, graph: ReadGraph, where: str
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
        return tuple(scalar_from(v, context, graph, f"{where}[{i}]") for i, v in parts)
    return scalar_from(value, context, graph, where)


def absent_value(record: m.AttributeProto, type: AttributeType, where: str) -> AttributeValue:
    """The value of a typed attribute without a value field: an empty list, or the zero that proto3 omits."""
    others = [f.name for f, _ in record.present() if f.name in TYPE_OF]
    if others:
        what = f"attribute {record.name!r} of type {type.name} must have a value of that type"
        what += f"; got {' and '.join(others)}"
        raise InvalidModel(what, location=where)
    if type.is_list:
        return ()
    zeros: dict[AttributeType, AttributeValue] = {
        AttributeType.FLOAT: 0.0,
        AttributeType.INT: 0,
        AttributeType.STRING: b"",
    }
    if type not in zeros:
        raise InvalidModel(
            f"attribute {record.name!r} of type {type.name} must have a value; got none", location=where
        )
    return zeros[type]


def scalar_from(value: object, context: ReadContext, graph: ReadGraph, where: str) -> AttributeScalar:
    match value:
        case bytes() | memoryview():
            return bytes(value)
        case m.TensorProto():
            return tensor_from(value, context.external, context.notes, where)
        case m.SparseTensorProto():
            return sparse_from(value, context.external, context.notes, where)
        case m.GraphProto():
            return graph(value, where)
        case m.TypeProto():
            type = type_from(value, where)
            if type is None:
                raise InvalidModel(
                    "a type must have a kind and an element type; got an empty type", location=where
                )
            return type
    raise AssertionError(f"{value!r} is not a known kind of attribute value")


def attribute_to(attribute: Attribute, graph: WriteGraph, placement: Placement) -> m.AttributeProto:
    """The record of an attribute."""
    record = m.AttributeProto(name=attribute.name)
    if attribute.type:
        record.type = int(attribute.type)
    if attribute.ref:
        record.ref_attr_name = attribute.ref
    else:
        value = attribute.value
        parts = (
            [scalar_to(v, graph, placement) for v in value]
            if isinstance(value, tuple)
            else scalar_to(value, graph, placement)
        )
        record.set(FIELD_OF[attribute.type], parts)
    if attribute.doc:
        record.doc_string = attribute.doc
    restore(record, attribute.details)
    return record


def scalar_to(value: AttributeValue, graph: WriteGraph, placement: Placement) -> int | float | bytes | Record:
    match value:
        case int() | float() | bytes():
            return value
        case Tensor():
            return tensor_to(value, placement)
        case SparseTensor():
            return sparse_to(value, placement)
        case Graph():
            return graph(value, placement)
        case None | tuple():
            raise AssertionError(f"{value!r} is not one value")
    return type_to(value)
