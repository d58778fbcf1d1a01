"""Vocabulary of ONNX textual syntax: reserved words, type names, and quoting of names, strings and bytes."""

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

IDENTIFIER_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ELEMENT_TYPE_CODES: dict[str, int] = {dtype.text: int(dtype) for dtype in DataType}
DATA_TYPES: dict[int, DataType] = {int(dtype): dtype for dtype in DataType}
# The types other than dense tensors.
CONTAINERS = frozenset({"seq", "map", "optional", "sparse_tensor", "opaque"})
NOT_FINITE = frozenset({"nan", "inf", "infinity"})
# Words with a meaning of their own where a name may occur, so that names equal to them are quoted.
RESERVED_WORDS = CONTAINERS | NOT_FINITE | {"base64", "hex", "raw_data"} | ELEMENT_TYPE_CODES.keys()

TYPES_OF_ATTRIBUTES: dict[str, int] = {kind.name.lower(): kind.value for kind in AttributeProtoAttributeType}
NAMES_OF_ATTRIBUTE_TYPES = {number: name for name, number in TYPES_OF_ATTRIBUTES.items()}
ATTRIBUTE_FIELDS: dict[int, str] = {  # the field with the value of each attribute type
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

# The fields with a notation of their own, which therefore do not appear in `{…}`.
GRAPH_FIELDS = ("name", "input", "output", "value_info", "node")
FUNCTION_FIELDS = ("name", "input", "output", "attribute", "attribute_proto", "value_info", "node")

# Fields with values of an enum of onnx.proto, which declares most of them as int32.
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

# Characters that a string literal must escape: control characters, except tab and line feed, and surrogates.
CONTROL_PATTERN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
ESCAPE_PATTERN = re.compile(r'\\(?:(["\\])|x([0-9A-Fa-f]{2}))?')


def quote_name(name: str) -> str:
    """The name, quoted unless it is an identifier."""
    return name if IDENTIFIER_PATTERN.fullmatch(name) else quote(name)


def quote_word(name: str) -> str:
    """The name, quoted unless it is an identifier that is no reserved word."""
    return quote(name) if name.lower() in RESERVED_WORDS else quote_name(name)


def quote_dotted_name(name: str) -> str:
    """The name, quoted as a whole unless it consists of identifiers separated by dots."""
    plain = all(IDENTIFIER_PATTERN.fullmatch(part) for part in name.split("."))
    return name if plain else quote(name)


def quote(text: str) -> str:
    """The string literal; `b"…"` if it needs an escape that the parser of the onnx package would read differently.

    Line breaks and tabs are not escaped, since the onnx package has no escapes for them.
    """
    inner, count = CONTROL_PATTERN.subn(escape, text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'b"{inner}"' if count else f'"{inner}"'


def escape(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogateescape"))


def bytes_literal(value: Payload) -> str:
    """A string literal, or base64 if that is shorter."""
    data = bytes(value)
    text = quote(data.decode("utf-8", "surrogateescape"))
    coded = 4 * ((len(data) + 2) // 3) + len('base64 ""')
    return text if len(text) <= coded else base64_literal(data)


def base64_literal(value: Payload) -> str:
    return f'base64 "{base64.b64encode(value).decode()}"'


def unquote(literal: str) -> str:
    """The string that a literal represents; raises ValueError for an invalid escape."""
    if "\\" not in literal and literal[0] == '"' and literal.isascii():
        return literal[1:-1]
    return unquote_bytes(literal).decode("utf-8", "surrogateescape")


def unquote_bytes(literal: str) -> bytes:
    """The bytes that a literal represents: UTF-8, with the bytes of `\\x` escapes."""
    pieces: list[bytes] = []
    done = start = literal.index('"') + 1
    for match in ESCAPE_PATTERN.finditer(literal, start, len(literal) - 1):
        sign, byte = match.groups()
        if sign is None and byte is None:
            bad = literal[match.start() : match.start() + 2]
            raise ValueError(
                f'an escape must be `\\"`, `\\\\` or, in `b"…"`, `\\x` with two digits; got `{bad}`'
            )
        if byte is not None and literal[0] != "b":
            raise ValueError(f'`{match[0]}` is an escape only in a string of the form `b"…"`')
        pieces.append(literal[done : match.start()].encode("utf-8", "surrogateescape"))
        pieces.append(sign.encode() if byte is None else bytes.fromhex(byte))
        done = match.end()
    pieces.append(literal[done:-1].encode("utf-8", "surrogateescape"))
    return b"".join(pieces)
