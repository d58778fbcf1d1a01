"""Encoding of protobuf messages; fields with the default values of proto3 are omitted."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias, cast

from sardonyx._src.serve.grpc.wire_fields import FIXED, FIXED32, FIXED64, OneofTable, Scalar, wire_fields


def encode(message: object) -> bytes:
    """The encoding of a message; fields with the default values of proto3 are omitted."""
    return b"".join(encode_parts(message))


def encode_parts(message: object) -> list[bytes | memoryview]:
    """The encoding of a message in parts; fields of bytes may be lists of parts, which are not joined."""
    parts: list[bytes | memoryview] = []
    encode_message(message, parts.append)
    return parts


Write: TypeAlias = Callable[["bytes | memoryview"], None]


def encode_message(message: object, write: Write) -> None:
    for wire in wire_fields(cast(Hashable, type(message))).values():
        value = getattr(message, wire.name)
        if wire.oneof is not None:
            for key, item in value.items():
                entry = encode_oneof(wire.oneof, item)
                write_bytes(
                    2 + 8 * wire.number,
                    b"".join((b"\x0a", sized(key.encode()), b"\x12", sized(entry))),
                    write,
                )
        elif isinstance(wire.kind, type):
            for inner in value if wire.is_repeated else () if value is None else (value,):
                write_bytes(2 + 8 * wire.number, encode_parts(inner), write)
        elif not wire.is_repeated:
            if value:
                encode_scalar(wire.number, cast(Scalar, wire.kind), value, write)
        elif wire.kind in ("string", "bytes"):
            for item in value:
                encode_scalar(wire.number, wire.kind, item, write)
        elif value:
            write_bytes(2 + 8 * wire.number, b"".join(map(encode_varint, value)), write)


def encode_oneof(oneof: OneofTable, value: object) -> bytes:
    """An encoded message with one field: the field of the oneof that has the type of `value`."""
    kinds: dict[type, Scalar] = {bool: "bool", int: "int64", str: "string", float: "double", bytes: "bytes"}
    kind = kinds[type(value)]
    if kind == "int64" and cast(int, value) >= 1 << 63:
        kind = "uint64"
    number = next(number for number, k in oneof.items() if k == kind)
    parts: list[bytes | memoryview] = []
    encode_scalar(number, kind, value, parts.append)
    return b"".join(parts)


def encode_scalar(number: int, kind: Scalar, value: object, write: Write) -> None:
    if kind == "string":
        write_bytes(2 + 8 * number, cast(str, value).encode(), write)
    elif kind == "bytes":
        write_bytes(2 + 8 * number, cast("bytes | list[bytes | memoryview]", value), write)
    elif kind in FIXED:
        write(encode_varint((FIXED32 if kind == "float" else FIXED64) + 8 * number) + FIXED[kind].pack(value))
    else:
        write(encode_varint(8 * number) + encode_varint(cast(int, value)))


def write_bytes(tag: int, data: bytes | memoryview | list[bytes | memoryview], write: Write) -> None:
    parts = data if isinstance(data, list) else [data]
    write(encode_varint(tag) + encode_varint(sum(map(len, parts))))
    for part in parts:
        write(part)


def sized(data: bytes) -> bytes:
    return encode_varint(len(data)) + data


def encode_varint(value: int) -> bytes:
    """A number in base 128; a negative number as its 64 bits in two's complement."""
    if 0 <= value < 0x80:
        return bytes((value,))
    value &= 0xFFFF_FFFF_FFFF_FFFF
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
