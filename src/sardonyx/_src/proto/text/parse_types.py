"""Reads types, dimensions, value infos, and the entries of the two kinds of lists of pairs."""

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
from sardonyx._src.proto.text.parse_records import read, read_extras, reads
from sardonyx._src.proto.text.words import CONTAINERS, ELEMENT_TYPES


def at_type(p: Lexer) -> bool:
    """Whether the token begins a type: a word that is reserved for them, or `?`."""
    return p.at("?") or (p.kind == "name" and (p.value in ELEMENT_TYPES or p.value in CONTAINERS))


@reads(TypeProto)
def read_type(p: Lexer) -> TypeProto:
    """`float[N, 3]`, `float` (no dimensions), `float[]` (shape absent), `seq(…)`, `map(…, …)`, and so on; `?` for none."""
    if not at_type(p):
        raise p.expected("a type")
    p.enter()
    word = p.advance()
    if word == "?":
        found = TypeProto()
    elif word in ELEMENT_TYPES:
        found = TypeProto(tensor_type=TypeProtoTensor(elem_type=ELEMENT_TYPES[word]))
        assert found.tensor_type is not None, "it was just set"
        read_shape(p, found.tensor_type)
    else:
        p.expect("(", f"after `{word}`")
        found = read_container(p, word)
        p.expect(")", f"at the end of `{word}(`")
    p.leave()
    read_extras(p, found)
    return found


def read_container(p: Lexer, word: str) -> TypeProto:
    if word == "seq":
        return TypeProto(sequence_type=TypeProtoSequence(**read_inner(p, "elem_type", ")")))
    if word == "optional":
        return TypeProto(optional_type=TypeProtoOptional(**read_inner(p, "elem_type", ")")))
    if word == "sparse_tensor":
        sparse = TypeProtoSparseTensor(elem_type=read_element_type(p))
        read_shape(p, sparse)
        return TypeProto(sparse_tensor_type=sparse)
    if word == "map":
        key = {} if p.at(",") else {"key_type": read_element_type(p)}
        p.expect(",", "after the key type of `map(`")
        return TypeProto(map_type=TypeProtoMap(**key, **read_inner(p, "value_type", ")")))
    return TypeProto(opaque_type=read_opaque(p))


def read_inner(p: Lexer, field: str, close: str) -> dict[str, TypeProto]:
    """The type inside a container; what is not written is absent."""
    return {} if p.at(close) else {field: read(p, TypeProto)}


def read_element_type(p: Lexer) -> int:
    if p.kind != "name" or p.value not in ELEMENT_TYPES:
        raise p.expected("an element type")
    return ELEMENT_TYPES[p.advance()]


def read_opaque(p: Lexer) -> TypeProtoOpaque:
    """`()`, `(name)`, `(domain, name)` or `(domain,)`; a single name may have dots."""
    found = TypeProtoOpaque()
    if p.at(")"):
        return found
    first = p.quotable("the name of an opaque type")
    while p.take("."):
        first += "." + p.name("a name after the dot")
    if not p.take(","):
        found.name = first
        return found
    found.domain = first
    if not p.at(")"):
        found.name = p.quotable("the name of an opaque type after its domain")
    return found


def read_shape(p: Lexer, holder: TypeProtoTensor | TypeProtoSparseTensor) -> None:
    if not p.take("["):
        holder.shape = TensorShapeProto()
    elif not p.take("]"):
        dims = [read(p, TensorShapeProtoDimension) for _ in p.items("]", "after a dimension")]
        holder.shape = TensorShapeProto(dim=dims)


@reads(TensorShapeProtoDimension)
def read_dimension(p: Lexer) -> TensorShapeProtoDimension:
    """A number, a name, or `?` for neither."""
    found = TensorShapeProtoDimension()
    if p.kind == "number":
        found.dim_value = int(p.number("int64", "an integer as dimension"))
    elif not p.take("?"):
        found.dim_param = p.quotable("a dimension (a number, a name or `?`)")
    read_extras(p, found)
    return found


@reads(ValueInfoProto)
def read_value_info(p: Lexer) -> ValueInfoProto:
    """`type name`, or the name alone."""
    found = ValueInfoProto()
    if at_type(p):
        found.type = read_type(p)
    found.name = p.quotable("the name of a value" if found.has("type") else "a type and the name of a value")
    read_extras(p, found)
    return found


@reads(StringStringEntryProto)
def read_pair(p: Lexer) -> StringStringEntryProto:
    """`"key": "value"`."""
    key = p.string("a key in quotes")
    p.expect(":", "after the key")
    found = StringStringEntryProto(key=key, value=p.string("a value in quotes"))
    read_extras(p, found)
    return found


@reads(OperatorSetIdProto)
def read_opset(p: Lexer) -> OperatorSetIdProto:
    """`"domain": version`, or the version alone where the domain is absent."""
    found = OperatorSetIdProto()
    if p.kind == "string":
        found.domain = p.string("a domain in quotes")
        p.expect(":", "after the domain")
    found.version = int(p.number("int64", 'an opset, as in `"": 18`'))
    read_extras(p, found)
    return found
