"""Decoding of protobuf messages.

Bytes fields are not copied: they are views of the message.  Packed numbers of tensors become arrays.  Unknown fields are
skipped.  To bound the cost of a message, the number of its fields is limited, and so is the length of packed numbers that do
not belong to tensors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array
from sardonyx._src.serve.grpc.wire_fields import (
    FIXED,
    FIXED32,
    FIXED64,
    LENGTH,
    VARINT,
    OneofTable,
    Scalar,
    WireField,
    wire_fields,
)
from sardonyx._src.serve.protocol.codec_threads import yield_interpreter

M = TypeVar("M")
MAX_FIELDS = 200_000  # fields of one message, including those of inner messages
PACKED_SLICE = 1 << 14  # bytes of packed numbers that are converted at once
YIELD_FIELDS = 256  # number of fields after which other threads may run
MAX_PACKED = 4096  # bytes of packed numbers up to which they become Python numbers
ARRAY_TYPES: dict[Scalar, str] = {
    "bool": "?",
    "int32": "<i4",
    "int64": "<i8",
    "uint32": "<u4",
    "uint64": "<u8",
    "float": "<f4",
    "double": "<f8",
}


def decode(
    message: type[M],
    data: bytes | bytearray | memoryview,
    max_fields: int = MAX_FIELDS,
    count_bytes: Callable[[int], None] | None = None,
) -> M:
    """The message that `data` encodes; raises InputError for malformed data, and for more than `max_fields` fields.

    count_bytes: called with the number of bytes of an array before the array is made of packed numbers; an exception that it
        raises ends the decoding.  None: bytes are not counted.
    """
    try:
        return MessageDecoder(max_fields, count_bytes).decode(message, memoryview(data))
    except (IndexError, ValueError, struct.error) as error:
        raise InputError(f"the message must be a {message.__name__}; got {error}", name="message") from None


class MessageDecoder:
    """The decoder of one message; it counts the fields, and the bytes of arrays."""

    __slots__ = ("count_bytes", "fields", "max_fields")

    def __init__(self, max_fields: int, count_bytes: Callable[[int], None] | None) -> None:
        self.fields, self.max_fields, self.count_bytes = 0, max_fields, count_bytes

    def decode(self, message: type[M], view: memoryview) -> M:
        """Raises ValueError, IndexError and struct.error for malformed data."""
        result = message()
        table = wire_fields(cast(Hashable, message))
        for number, wire_type, value in raw_fields(view):
            self.fields += 1
            if self.fields % YIELD_FIELDS == 0:
                yield_interpreter()
            if self.fields > self.max_fields:
                raise ValueError(f"more than {self.max_fields} fields; send tensors as raw contents")
            wire = table.get(number)
            if wire is not None:
                self.decode_field(result, wire, wire_type, value)
        return result

    def decode_field(self, message: object, wire: WireField, wire_type: int, value: int | memoryview) -> None:
        if wire.oneof is not None:
            key, entry = decode_entry(wire.oneof, as_view(value))
            getattr(message, wire.name)[key] = entry
        elif isinstance(wire.kind, type):
            append_or_set(message, wire, self.decode(cast("type[object]", wire.kind), as_view(value)))
        elif wire.is_array:
            getattr(message, wire.name).append(self.array_of(cast(Scalar, wire.kind), wire_type, value))
        elif wire.is_repeated and wire_type == LENGTH and wire.kind not in ("string", "bytes"):
            getattr(message, wire.name).extend(unpack(cast(Scalar, wire.kind), as_view(value)))
        else:
            append_or_set(message, wire, convert(cast(Scalar, wire.kind), wire_type, value))

    def array_of(self, kind: Scalar, wire_type: int, value: int | memoryview) -> Array:
        """The numbers of a packed field, or the only number of another field, as an array."""
        if wire_type != LENGTH:
            return np.array([convert(kind, wire_type, value)], ARRAY_TYPES[kind])
        view = as_view(value)
        if kind not in FIXED:
            if self.count_bytes is not None:
                self.count_bytes(len(view) * np.dtype(ARRAY_TYPES[kind]).itemsize)
            return unpack_varints(view, ARRAY_TYPES[kind])
        if len(view) % FIXED[kind].size:
            raise ValueError(f"{len(view)} bytes of packed numbers of {FIXED[kind].size} bytes")
        return np.frombuffer(view, ARRAY_TYPES[kind])


def append_or_set(message: object, wire: WireField, value: object) -> None:
    if wire.is_repeated:
        getattr(message, wire.name).append(value)
    else:
        setattr(message, wire.name, value)


def decode_entry(oneof: OneofTable, view: memoryview) -> tuple[str, object]:
    """The key and the value of an entry of a map.  The value is the last field of its oneof; "" without one."""
    key, value = "", cast(object, "")
    for number, wire_type, raw in raw_fields(view):
        if number == 1:
            key = cast(str, convert("string", wire_type, raw))
        elif number == 2:
            for inner, inner_type, scalar_value in raw_fields(as_view(raw)):
                if inner in oneof:
                    value = convert(oneof[inner], inner_type, scalar_value)
    return key, value


def raw_fields(view: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """The number, wire type and value of each field; a value is an integer, or the bytes of a fixed-size or
    length-delimited value."""
    p, end = 0, len(view)
    while p < end:
        tag = view[p]
        p += 1
        if tag >= 0x80:
            tag, p = varint(view, p - 1)
        wire_type = tag & 7
        if wire_type == VARINT:
            value, p = varint(view, p)
            yield tag >> 3, wire_type, value
            continue
        if wire_type == LENGTH:
            length, p = varint(view, p)
        elif wire_type in (FIXED64, FIXED32):
            length = 8 if wire_type == FIXED64 else 4
        else:
            raise ValueError(f"a field of wire type {wire_type}")
        if length > end - p:
            raise ValueError(f"a field of {length} bytes where {end - p} are left")
        yield tag >> 3, wire_type, view[p : p + length]
        p += length


def varint(view: memoryview, p: int) -> tuple[int, int]:
    """The unsigned number that is encoded from index p on, and the index after it."""
    byte = view[p]
    if byte < 0x80:
        return byte, p + 1
    result, shift = byte & 0x7F, 7
    while True:
        p += 1
        byte = view[p]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, p + 1
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")


def as_view(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number in a field of bytes")
    return value


def convert(kind: Scalar, wire_type: int, value: int | memoryview) -> object:
    """A scalar from its encoding."""
    if kind in FIXED:
        expected = FIXED32 if kind == "float" else FIXED64
        if wire_type != expected or isinstance(value, int):
            raise ValueError(f"wire type {wire_type} in a field of type {kind}")
        return FIXED[kind].unpack(value)[0]
    if kind in ("string", "bytes"):
        if wire_type != LENGTH or isinstance(value, int):
            raise ValueError(f"wire type {wire_type} in a field of type {kind}")
        return value if kind == "bytes" else str(value, "utf-8")
    if not isinstance(value, int):
        raise ValueError(f"wire type {wire_type} in a field of type {kind}")
    return to_integer(kind, value)


def to_integer(kind: Scalar, value: int) -> int | bool:
    """A number from its 64 bits."""
    if kind == "bool":
        return value != 0
    if kind == "uint64":
        return value
    if kind == "uint32":
        return value & 0xFFFF_FFFF
    if kind == "int32":
        value &= 0xFFFF_FFFF
        return value - (1 << 32) if value >= 1 << 31 else value
    return value - (1 << 64) if value >= 1 << 63 else value


def unpack(kind: Scalar, view: memoryview) -> list[int | bool]:
    """The integers of a packed field."""
    if len(view) > MAX_PACKED:
        raise ValueError(f"{len(view)} bytes of packed numbers where at most {MAX_PACKED} make sense")
    p, result = 0, []
    while p < len(view):
        value, p = varint(view, p)
        result.append(to_integer(kind, value))
    return result


def unpack_varints(view: memoryview, dtype: str) -> Array:
    """Packed numbers as an array.  They are converted in slices, since intermediate arrays have many times the bytes."""
    data = np.frombuffer(view, np.uint8)
    result = np.empty(np.count_nonzero(data < 0x80), dtype)
    if len(data) and data[-1] >= 0x80:
        raise ValueError("a packed number without an end")
    begin = count = 0
    while begin < len(data):
        yield_interpreter()
        ends = np.flatnonzero(data[begin : begin + PACKED_SLICE] < 0x80)
        if not len(ends):
            raise ValueError("a number of more than ten bytes")
        result[count : count + len(ends)] = join_groups(data[begin : begin + ends[-1] + 1], ends).astype(
            dtype
        )
        begin, count = begin + int(ends[-1]) + 1, count + len(ends)
    return result


def join_groups(data: NDArray[np.uint8], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Numbers of 64 bits from their groups of 7 bits.  ends: the index of the last group of each number."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > 10:
        raise ValueError("a number of more than ten bytes")
    shifts = (np.arange(len(data)) - np.repeat(starts, lengths)).astype(np.uint64) * np.uint64(7)
    groups = (data & 0x7F).astype(np.uint64) << shifts
    return np.bitwise_or.reduceat(groups, starts)
