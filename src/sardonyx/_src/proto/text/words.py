"""The words of the textual syntax: names and how they are quoted, strings and bytes, names of types."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import (
    AttributeProto,
    AttributeProtoAttributeType,
    MapProto,
    OperatorProto,
    OperatorStatus,
    OptionalProto,
    OptionalProtoDataType,
    SequenceProto,
    SequenceProtoDataType,
    TensorProto,
    TensorProtoDataLocation,
    TensorProtoDataType,
    TypeProtoMap,
    TypeProtoSparseTensor,
    TypeProtoTensor,
)
from sardonyx._src.proto.record import Payload, Record

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ELEMENT_TYPES: dict[str, int] = {dtype.text: int(dtype) for dtype in DataType}
DATA_TYPES: dict[int, DataType] = {int(dtype): dtype for dtype in DataType}
CONTAINERS = frozenset({"seq", "map", "optional", "sparse_tensor", "opaque"})
NOT_FINITE = frozenset({"nan", "inf", "infinity"})
RESERVED = CONTAINERS | NOT_FINITE | {"base64", "hex", "raw_data"} | ELEMENT_TYPES.keys()

TYPES_OF_ATTRIBUTES: dict[str, int] = {kind.name.lower(): kind.value for kind in AttributeProtoAttributeType}
NAMES_OF_ATTRIBUTE_TYPES = {number: name for name, number in TYPES_OF_ATTRIBUTES.items()}
ATTRIBUTE_FIELDS: dict[int, str] = {  # where an attribute of each type has its value
    AttributeProtoAttributeType.FLOAT: "f",
    AttributeProtoAttributeType.INT: "i",
    AttributeProtoAttributeType.STRING: "s",
    AttributeProtoAttributeType.TENSOR: "t",
    AttributeProtoAttributeType.GRAPH: "g",
    AttributeProtoAttributeType.FLOATS: "floats",
    AttributeProtoAttributeType.INTS: "ints",
    AttributeProtoAttributeType.STRINGS: "strings",
    AttributeProtoAttributeType.TENSORS: "tensors",
    AttributeProtoAttributeType.GRAPHS: "graphs",
    AttributeProtoAttributeType.SPARSE_TENSOR: "sparse_tensor",
    AttributeProtoAttributeType.SPARSE_TENSORS: "sparse_tensors",
    AttributeProtoAttributeType.TYPE_PROTO: "tp",
    AttributeProtoAttributeType.TYPE_PROTOS: "type_protos",
}

# onnx.proto declares most of these fields as plain int32; the names are still those of its enums.
DATA_TYPE = {member.name: member.value for member in TensorProtoDataType}
ENUMS: Mapping[tuple[type[Record], str], Mapping[str, int]] = {
    (AttributeProto, "type"): {member.name: member.value for member in AttributeProtoAttributeType},
    (TensorProto, "data_type"): DATA_TYPE,
    (TensorProto, "data_location"): {member.name: member.value for member in TensorProtoDataLocation},
    (TypeProtoTensor, "elem_type"): DATA_TYPE,
    (TypeProtoSparseTensor, "elem_type"): DATA_TYPE,
    (TypeProtoMap, "key_type"): DATA_TYPE,
    (SequenceProto, "elem_type"): {member.name: member.value for member in SequenceProtoDataType},
    (MapProto, "key_type"): DATA_TYPE,
    (OptionalProto, "elem_type"): {member.name: member.value for member in OptionalProtoDataType},
    (OperatorProto, "status"): {member.name: member.value for member in OperatorStatus},
}
ENUM_NAMES = {field: {number: name for name, number in names.items()} for field, names in ENUMS.items()}

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
ESCAPE = re.compile(r'\\(?:(["\\])|x([0-9A-Fa-f]{2}))?')


def plain_name(name: str) -> str:
    """The name as it is where it is an identifier, else quoted."""
    return name if IDENTIFIER.fullmatch(name) else quoted(name)


def quotable(name: str) -> str:
    """Like `plain_name`, for places where some words have a meaning of their own: these are quoted, too."""
    return quoted(name) if name.lower() in RESERVED else plain_name(name)


def dotted(name: str) -> str:
    """A name of identifiers between dots as it is, any other quoted as a whole."""
    plain = all(IDENTIFIER.fullmatch(part) for part in name.split("."))
    return name if plain else quoted(name)


def quoted(text: str) -> str:
    """The string literal, `b"…"` where it needs an escape that the onnx package would misread.

    Line breaks and tabs stand for themselves, as that package has no escapes for them.
    """
    inner, count = CONTROL.subn(escape, text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'b"{inner}"' if count else f'"{inner}"'


def escape(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))


def bytes_literal(value: Payload) -> str:
    """A string literal, or base64 where that is shorter."""
    data = bytes(value)
    text = quoted(data.decode("utf-8", "surrogateescape"))
    coded = 4 * ((len(data) + 2) // 3) + len('base64 ""')
    return text if len(text) <= coded else base64_literal(data)


def base64_literal(value: Payload) -> str:
    return f'base64 "{base64.b64encode(value).decode()}"'


def unquoted(literal: str) -> str:
    """The string that a literal means; ValueError for an escape that does not exist."""
    if "\\" not in literal and literal[0] == '"' and literal.isascii():
        return literal[1:-1]
    return unquoted_bytes(literal).decode("utf-8", "surrogateescape")


def unquoted_bytes(literal: str) -> bytes:
    """The bytes that a literal means: UTF-8, and those that `\\x` gives."""
    pieces: list[bytes] = []
    done = start = literal.index('"') + 1
    for found in ESCAPE.finditer(literal, start, len(literal) - 1):
        sign, byte = found.groups()
        if sign is None and byte is None:
            bad = literal[found.start() : found.start() + 2]
            raise ValueError(
                f'unknown escape `{bad}`; there are `\\"` and `\\\\`, and in `b"…"` also `\\x` with two digits'
            )
        if byte is not None and literal[0] != "b":
            raise ValueError(f'`{found[0]}` is an escape only in a string of the form `b"…"`')
        pieces.append(literal[done : found.start()].encode("utf-8", "surrogateescape"))
        pieces.append(sign.encode() if byte is None else bytes.fromhex(byte))
        done = found.end()
    pieces.append(literal[done:-1].encode("utf-8", "surrogateescape"))
    return b"".join(pieces)
