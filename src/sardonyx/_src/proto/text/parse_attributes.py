"""Parsers of attributes; the type of an attribute may be omitted if the value implies it."""

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
from sardonyx._src.proto.text.parse_records import (
    RECORD_READERS,
    read,
    read_bytes,
    read_extras,
    register_reader,
)
from sardonyx._src.proto.text.parse_tensors import is_at_constant, read_constant
from sardonyx._src.proto.text.parse_types import is_at_type, read_type
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
ELEMENT_OF = {list_type: element_type for element_type, list_type in LIST_OF.items()}
ATTRIBUTE_MESSAGES: dict[int, type[Record]] = {
    Type.TENSOR: TensorProto,
    Type.GRAPH: GraphProto,
    Type.SPARSE_TENSOR: SparseTensorProto,
    Type.TYPE_PROTO: TypeProto,
}


@register_reader(AttributeProto)
def read_attribute(lexer: Lexer) -> AttributeProto:
    """`name: type = value`, `name: type = @reference`, or `name: type` without a value."""
    attribute = AttributeProto(name=lexer.read_quotable_name("the name of an attribute"))
    if lexer.take(":"):
        attribute.type = read_attribute_type(lexer)
    read_extras(lexer, attribute)
    if not lexer.take("="):
        return attribute
    start = lexer.start
    if lexer.take("@"):
        set_once(
            lexer,
            attribute,
            "ref_attr_name",
            lexer.read_quotable_name("the name of an attribute after `@`"),
            start,
        )
        return attribute
    declared = declared_type(lexer, attribute)
    kind, value = read_list(lexer, declared) if lexer.take("[") else read_single_value(lexer, declared)
    if not attribute.has("type"):
        attribute.type = kind
    set_once(lexer, attribute, ATTRIBUTE_FIELDS[kind], value, start)
    return attribute


def declared_type(lexer: Lexer, attribute: AttributeProto) -> Type | None:
    if not attribute.has("type"):
        return None
    if attribute.type not in ATTRIBUTE_FIELDS:
        raise lexer.error(f"an attribute with a value must have a defined type; got type {attribute.type}")
    return Type(attribute.type)


def set_once(lexer: Lexer, attribute: AttributeProto, field: str, value: object, start: int) -> None:
    if attribute.has(field):
        raise lexer.error(
            f"`{field}` of the attribute `{attribute.name}` must be set once; got it twice", start
        )
    setattr(attribute, field, value)


def read_attribute_type(lexer: Lexer) -> int:
    if lexer.kind != "name" or lexer.value not in TYPES_OF_ATTRIBUTES:
        raise lexer.expected_error(f"one of the attribute types {', '.join(TYPES_OF_ATTRIBUTES)}")
    return TYPES_OF_ATTRIBUTES[lexer.advance()]


def read_list(lexer: Lexer, declared: Type | None) -> tuple[Type, object]:
    """The values after a `[`; without a declared type, the first value determines it."""
    element_type = None if declared is None else ELEMENT_OF.get(declared)
    if declared is not None and element_type is None:
        raise lexer.error(
            f"the value of an attribute of type `{declared.name.lower()}` must be a single value; got a list"
        )
    if lexer.is_at("]") and element_type is None:
        raise lexer.error("an empty list must have a type; got none; write it as in `: ints = []`")
    if element_type in (Type.INT, Type.FLOAT) or (element_type is None and lexer.is_at_number()):
        integer = element_type == Type.INT or (element_type is None and lexer.is_at_integer())
        numbers = lexer.read_numbers(
            "int64" if integer else "float", "]", "an integer" if integer else "a number"
        )
        return (Type.INTS if integer else Type.FLOATS), numbers
    values: list[object] = []
    for _ in lexer.iterate_items("]", "after a value of the list"):
        element_type, value = read_single_value(lexer, element_type)
        values.append(value)
    assert element_type is not None, "the list has a value or a declared type"
    return LIST_OF[element_type], values


def read_single_value(lexer: Lexer, expected: Type | None) -> tuple[Type, object]:
    """The type and value of an attribute that is not a list; the type must be `expected` unless that is None."""
    if lexer.is_at("{"):
        if expected is None or expected not in ATTRIBUTE_MESSAGES:
            raise lexer.error("a value in `{…}` must have a type; got none; write it as in `: tensor = {…}`")
        return expected, read(lexer, ATTRIBUTE_MESSAGES[expected])
    kind = kind_of_value(lexer, expected)
    if expected is not None and kind != expected and {kind, expected} != {Type.TENSOR, Type.TYPE_PROTO}:
        raise lexer.expected_error(f"a value of type `{expected.name.lower()}`")
    if kind == Type.GRAPH:
        return kind, RECORD_READERS[GraphProto](lexer)
    if kind == Type.STRING:
        return kind, read_bytes(lexer, "a string")
    if kind == Type.TYPE_PROTO:
        return read_type_or_tensor(lexer, expected)
    return kind, lexer.read_number("int64" if kind == Type.INT else "float", "a number")


def kind_of_value(lexer: Lexer, expected: Type | None) -> Type:
    """The type of the next value, determined by the current token and the sign after it."""
    if lexer.is_at_number():
        return Type.FLOAT if expected == Type.FLOAT or not lexer.is_at_integer() else Type.INT
    if lexer.kind == "string" and not lexer.is_followed_by("(", "@{"):
        return Type.STRING
    if lexer.kind == "name" and lexer.value in ("base64", "hex") and lexer.is_followed_by('"'):
        return Type.STRING
    if is_at_type(lexer):
        return Type.TYPE_PROTO
    if lexer.kind in ("name", "string") or lexer.is_at("(") or lexer.is_at("@{"):
        return Type.GRAPH
    raise lexer.expected_error("the value of an attribute")


def read_type_or_tensor(lexer: Lexer, expected: Type | None) -> tuple[Type, object]:
    start = lexer.start
    type_ = read_type(lexer)
    kind = Type.TENSOR if is_at_constant(lexer) else Type.TYPE_PROTO
    if expected is not None and kind != expected:
        actual = "a type without data" if kind == Type.TYPE_PROTO else "a type with data"
        raise lexer.error(f"the value must be of type `{expected.name.lower()}`; got {actual}", start)
    return kind, read_constant(lexer, type_, start) if kind == Type.TENSOR else type_


def read_attributes(lexer: Lexer, node: NodeProto) -> None:
    """`<attribute, …>`, or nothing."""
    if lexer.take("<"):
        if lexer.is_at(">"):
            raise lexer.expected_error("an attribute")
        for _ in lexer.iterate_items(">", "after an attribute"):
            node.attribute.append(read(lexer, AttributeProto) if lexer.is_at("{") else read_attribute(lexer))
