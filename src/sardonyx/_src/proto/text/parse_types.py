"""Parsers of types, dimensions, value infos, metadata entries and opset imports."""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    OperatorSetIdProto,
    StringStringEntryProto,
    TensorShapeProto,
    TensorShapeProtoDimension,
    TypeProto,
    TypeProtoMap,
    TypeProtoOpaque,
    TypeProtoOptional,
    TypeProtoSequence,
    TypeProtoSparseTensor,
    TypeProtoTensor,
    ValueInfoProto,
)
from sardonyx._src.proto.text.lexer import Lexer
from sardonyx._src.proto.text.parse_records import read, read_extras, register_reader
from sardonyx._src.proto.text.words import CONTAINERS, ELEMENT_TYPE_CODES

HANDLE = (
    "the type of a value must be one of onnx.proto; got `handle`, which only the first edition of the specification names; "
    "use an opaque type, as `opaque(com.example, handle)`"
)


def is_at_type(lexer: Lexer) -> bool:
    """Whether the token starts a type: a reserved type name or `?`."""
    return lexer.is_at("?") or (
        lexer.kind == "name" and (lexer.value in ELEMENT_TYPE_CODES or lexer.value in CONTAINERS)
    )


@register_reader(TypeProto)
def read_type(lexer: Lexer) -> TypeProto:
    """`float[N, 3]`, `float` (no dimensions), `float[]` (shape absent), `seq(…)`, `map(…, …)`, and so on; `?` for none."""
    if not is_at_type(lexer):
        raise lexer.expected_error("a type")
    lexer.enter()
    word = lexer.advance()
    if word == "?":
        type_ = TypeProto()
    elif word in ELEMENT_TYPE_CODES:
        type_ = TypeProto(tensor_type=TypeProtoTensor(elem_type=ELEMENT_TYPE_CODES[word]))
        assert type_.tensor_type is not None, "it was just set"
        read_shape(lexer, type_.tensor_type)
    else:
        lexer.expect("(", f"after `{word}`")
        type_ = read_container(lexer, word)
        lexer.expect(")", f"at the end of `{word}(`")
    lexer.leave()
    read_extras(lexer, type_)
    return type_


def read_container(lexer: Lexer, word: str) -> TypeProto:
    if word == "seq":
        return TypeProto(sequence_type=TypeProtoSequence(**read_inner(lexer, "elem_type", ")")))
    if word == "optional":
        return TypeProto(optional_type=TypeProtoOptional(**read_inner(lexer, "elem_type", ")")))
    if word == "sparse_tensor":
        sparse = TypeProtoSparseTensor(elem_type=read_element_type(lexer))
        read_shape(lexer, sparse)
        return TypeProto(sparse_tensor_type=sparse)
    if word == "map":
        key = {} if lexer.is_at(",") else {"key_type": read_element_type(lexer)}
        lexer.expect(",", "after the key type of `map(`")
        return TypeProto(map_type=TypeProtoMap(**key, **read_inner(lexer, "value_type", ")")))
    return TypeProto(opaque_type=read_opaque(lexer))


def read_inner(lexer: Lexer, field: str, close: str) -> dict[str, TypeProto]:
    """The element type of a container as the value of a field; {} if there is nothing before `close`."""
    return {} if lexer.is_at(close) else {field: read(lexer, TypeProto)}


def read_element_type(lexer: Lexer) -> int:
    if lexer.kind != "name" or lexer.value not in ELEMENT_TYPE_CODES:
        raise lexer.expected_error("an element type")
    return ELEMENT_TYPE_CODES[lexer.advance()]


def read_opaque(lexer: Lexer) -> TypeProtoOpaque:
    """`()`, `(name)`, `(domain, name)` or `(domain,)`; a single name may have dots."""
    opaque = TypeProtoOpaque()
    if lexer.is_at(")"):
        return opaque
    first = lexer.read_quotable_name("the name of an opaque type")
    while lexer.take("."):
        first += "." + lexer.read_name("a name after the dot")
    if not lexer.take(","):
        opaque.name = first
        return opaque
    opaque.domain = first
    if not lexer.is_at(")"):
        opaque.name = lexer.read_quotable_name("the name of an opaque type after its domain")
    return opaque


def read_shape(lexer: Lexer, holder: TypeProtoTensor | TypeProtoSparseTensor) -> None:
    if not lexer.take("["):
        holder.shape = TensorShapeProto()
    elif not lexer.take("]"):
        dims = [read(lexer, TensorShapeProtoDimension) for _ in lexer.iterate_items("]", "after a dimension")]
        holder.shape = TensorShapeProto(dim=dims)


@register_reader(TensorShapeProtoDimension)
def read_dimension(lexer: Lexer) -> TensorShapeProtoDimension:
    """A number, a name, or `?` for an unknown dimension."""
    dim = TensorShapeProtoDimension()
    if lexer.kind == "number":
        dim.dim_value = int(lexer.read_number("int64", "an integer as dimension"))
    elif not lexer.take("?"):
        dim.dim_param = lexer.read_quotable_name("a dimension (a number, a name or `?`)")
    read_extras(lexer, dim)
    return dim


@register_reader(ValueInfoProto)
def read_value_info(lexer: Lexer) -> ValueInfoProto:
    """`type name` or `name`."""
    info = ValueInfoProto()
    if is_at_type(lexer):
        info.type = read_type(lexer)
    start = lexer.start
    info.name = lexer.read_quotable_name(
        "the name of a value" if info.has("type") else "a type and the name of a value"
    )
    if info.name == "handle" and not info.has("type") and (lexer.kind == "name" or lexer.is_at("[")):
        raise lexer.error(HANDLE, start)
    read_extras(lexer, info)
    return info


@register_reader(StringStringEntryProto)
def read_pair(lexer: Lexer) -> StringStringEntryProto:
    """`"key": "value"`."""
    key = lexer.read_string("a key in quotes")
    lexer.expect(":", "after the key")
    pair = StringStringEntryProto(key=key, value=lexer.read_string("a value in quotes"))
    read_extras(lexer, pair)
    return pair


@register_reader(OperatorSetIdProto)
def read_opset(lexer: Lexer) -> OperatorSetIdProto:
    """`"domain": version`, or `version` if the domain is absent."""
    opset = OperatorSetIdProto()
    if lexer.kind == "string":
        opset.domain = lexer.read_string("a domain in quotes")
        lexer.expect(":", "after the domain")
    opset.version = int(lexer.read_number("int64", 'an opset, as in `"": 18`'))
    read_extras(lexer, opset)
    return opset
