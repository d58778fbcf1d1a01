"""Reads attributes, whose type may follow from the value."""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    AttributeProto,
    AttributeProtoAttributeType,
    GraphProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_records import READERS, read, read_bytes, read_extras, reads
from sardonyx._src.proto.text.parse_tensors import at_constant, read_constant
from sardonyx._src.proto.text.parse_types import at_type, read_type
from sardonyx._src.proto.text.words import ATTRIBUTE_FIELDS, TYPES_OF_ATTRIBUTES

Type = AttributeProtoAttributeType
LIST_OF = {
    Type.FLOAT: Type.FLOATS,
    Type.INT: Type.INTS,
    Type.STRING: Type.STRINGS,
    Type.TENSOR: Type.TENSORS,
    Type.GRAPH: Type.GRAPHS,
    Type.SPARSE_TENSOR: Type.SPARSE_TENSORS,
    Type.TYPE_PROTO: Type.TYPE_PROTOS,
}
ONE_OF = {many: one for one, many in LIST_OF.items()}
MESSAGES: dict[int, type[Record]] = {
    Type.TENSOR: TensorProto,
    Type.GRAPH: GraphProto,
    Type.SPARSE_TENSOR: SparseTensorProto,
    Type.TYPE_PROTO: TypeProto,
}


@reads(AttributeProto)
def read_attribute(p: Lexer) -> AttributeProto:
    """`name: type = value`, or `= @name` for a reference; without value, the attribute has none."""
    found = AttributeProto(name=p.quotable("the name of an attribute"))
    if p.take(":"):
        found.type = read_attribute_type(p)
    read_extras(p, found)
    if not p.take("="):
        return found
    at = p.start
    if p.take("@"):
        set_once(p, found, "ref_attr_name", p.quotable("the name of an attribute after `@`"), at)
        return found
    declared = declared_type(p, found)
    kind, value = read_list(p, declared) if p.take("[") else read_one(p, declared)
    if not found.has("type"):
        found.type = kind
    set_once(p, found, ATTRIBUTE_FIELDS[kind], value, at)
    return found


def declared_type(p: Lexer, found: AttributeProto) -> Type | None:
    if not found.has("type"):
        return None
    if found.type not in ATTRIBUTE_FIELDS:
        raise p.error(f"an attribute of type {found.type} has no value that could be written after `=`")
    return Type(found.type)


def set_once(p: Lexer, found: AttributeProto, field: str, value: object, at: int) -> None:
    if found.has(field):
        raise p.error(f"`{field}` of the attribute `{found.name}` is already set", at)
    setattr(found, field, value)


def read_attribute_type(p: Lexer) -> int:
    if p.kind != "name" or p.value not in TYPES_OF_ATTRIBUTES:
        raise p.expected(f"one of the attribute types {', '.join(TYPES_OF_ATTRIBUTES)}")
    return TYPES_OF_ATTRIBUTES[p.advance()]


def read_list(p: Lexer, declared: Type | None) -> tuple[Type, object]:
    """The values after a `[`; the first one decides their type where none is declared."""
    wanted = None if declared is None else ONE_OF.get(declared)
    if declared is not None and wanted is None:
        raise p.error(f"a list cannot be the value of an attribute of type `{declared.name.lower()}`")
    if p.at("]") and wanted is None:
        raise p.error("the type of an empty list has to be written, as in `: ints = []`")
    if wanted in (Type.INT, Type.FLOAT) or (wanted is None and p.at_number()):
        whole = wanted == Type.INT or (wanted is None and p.at_whole())
        numbers = p.numbers("int64" if whole else "float", "]", "an integer" if whole else "a number")
        return (Type.INTS if whole else Type.FLOATS), numbers
    values: list[object] = []
    for _ in p.items("]", "after a value of the list"):
        wanted, value = read_one(p, wanted)
        values.append(value)
    assert wanted is not None, "the list is not empty, or its type is declared"
    return LIST_OF[wanted], values


def read_one(p: Lexer, wanted: Type | None) -> tuple[Type, object]:
    """A value that is no list, and its type, which has to be the one wanted, if any."""
    if p.at("{"):
        if wanted is None or wanted not in MESSAGES:
            raise p.error("the type of a value in `{…}` has to be written, as in `: tensor = {…}`")
        return wanted, read(p, MESSAGES[wanted])
    kind = kind_at(p, wanted)
    if wanted is not None and kind != wanted and {kind, wanted} != {Type.TENSOR, Type.TYPE_PROTO}:
        raise p.expected(f"a value of type `{wanted.name.lower()}`")
    if kind == Type.GRAPH:
        return kind, READERS[GraphProto](p)
    if kind == Type.STRING:
        return kind, read_bytes(p, "a string")
    if kind == Type.TYPE_PROTO:
        return read_type_or_tensor(p, wanted)
    return kind, p.number("int64" if kind == Type.INT else "float", "a number")


def kind_at(p: Lexer, wanted: Type | None) -> Type:
    """The type of the value that begins here, as far as one token and the next sign tell."""
    if p.at_number():
        return Type.FLOAT if wanted == Type.FLOAT or not p.at_whole() else Type.INT
    if p.kind == "string" and not p.before("(", "@{"):
        return Type.STRING
    if p.kind == "name" and p.value in ("base64", "hex") and p.before('"'):
        return Type.STRING
    if at_type(p):
        return Type.TYPE_PROTO
    if p.kind in ("name", "string") or p.at("(") or p.at("@{"):
        return Type.GRAPH
    raise p.expected("the value of an attribute")


def read_type_or_tensor(p: Lexer, wanted: Type | None) -> tuple[Type, object]:
    at = p.start
    type_ = read_type(p)
    kind = Type.TENSOR if at_constant(p) else Type.TYPE_PROTO
    if wanted is not None and kind != wanted:
        what = "data has to follow" if kind == Type.TYPE_PROTO else "no data may follow"
        raise p.error(f"{what}, as the attribute is of type `{wanted.name.lower()}`", at)
    return kind, read_constant(p, type_, at) if kind == Type.TENSOR else type_


def read_attributes(p: Lexer, node: NodeProto) -> None:
    """`<attribute, …>`, or nothing."""
    if p.take("<"):
        if p.at(">"):
            raise p.expected("an attribute")
        for _ in p.items(">", "after an attribute"):
            node.attribute.append(read(p, AttributeProto) if p.at("{") else read_attribute(p))
