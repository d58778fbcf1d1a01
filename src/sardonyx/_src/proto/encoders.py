"""Encoders of the protobuf wire format: one cached writer function for each field.

A writer appends the encoded value of its field to a list of pieces and returns the number of bytes appended.  For
an invalid value it may raise any exception; `encoding_errors` then finds the path and the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from sardonyx._src.proto.record import (
    RANGES,
    Field,
    FieldSet,
    Numbers,
    Payload,
    Record,
    brief,
    fields_in_order,
    value_error,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pieces: TypeAlias = list[Payload]
FieldWriter: TypeAlias = Callable[[Any, Pieces], int]  # the type of the value depends on the field
FIXED: dict[str, np.dtype[np.floating]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}
SEQUENCES = (list, tuple, np.ndarray)
ONE_BYTE = [bytes((n,)) for n in range(128)]


def write_message(record: Record, out: Pieces) -> int:
    """Appends the encoded record: known fields in field-number order, then unknown fields; returns the byte count.

    Uses one stack frame per message, as decoding does, so that every record that was decoded can be encoded.
    """
    size = 0
    values = record.__dict__
    for field, tag, write in writers_of((type(record), tuple(values))):
        value = values[field.name]
        if value is None:
            continue
        if write:
            size += write(value, out)
            continue
        for part in value if field.repeated else (value,):
            if type(part) is not field.message:
                raise TypeError
            index = len(out)
            out.append(b"")  # the length prefix, known once the message is written
            length = write_message(part, out)
            out[index] = head = tag + (ONE_BYTE[length] if length < 128 else varint(length))
            size += len(head) + length
    for extra in values.get("_unknown", ()):
        out.append(extra)
        size += len(extra)
    return size


@lru_cache(maxsize=4096)
def writers_of(field_set: FieldSet) -> tuple[tuple[Field, bytes, FieldWriter | None], ...]:
    """The fields that are set, in field-number order, with tag and writer; the writer is None for message fields."""
    return tuple((field, tag_of(field), make_writer(field)) for field in fields_in_order(field_set))


def tag_of(field: Field) -> bytes:
    return varint(field.tags[1 if field.packed else 0])


@cache
def make_writer(field: Field) -> FieldWriter | None:
    """The writer of a field, which writes tag and value; None for a message field."""
    if field.message:
        return None
    tag = tag_of(field)
    if field.packed:
        return packed_writer(tag, field.kind)
    if field.kind == "string":
        write = text_writer(tag)
    elif field.kind == "bytes":
        write = payload_writer(tag)
    elif field.kind in FIXED:
        write = float_writer(tag, field.kind)
    else:
        write = integer_writer(tag, field.kind)
    return repeated_writer(write) if field.repeated else write


def repeated_writer(write: FieldWriter) -> FieldWriter:
    def write_each(values: object, out: Pieces) -> int:
        if not isinstance(values, SEQUENCES):  # a string would be iterated by character
            raise TypeError
        size = 0
        for value in values:
            size += write(value, out)
        return size

    return write_each


def text_writer(tag: bytes) -> FieldWriter:
    def write_text(value: str, out: Pieces) -> int:
        data = value.encode("utf-8", "surrogateescape")
        size = len(data)
        piece = tag + (ONE_BYTE[size] if size < 128 else varint(size)) + data
        out.append(piece)
        return len(piece)

    return write_text


def payload_writer(tag: bytes) -> FieldWriter:
    def write_payload(value: Payload | bytearray, out: Pieces) -> int:
        if not isinstance(value, bytes):
            return write_view(memoryview(value) if isinstance(value, bytearray) else value, out)
        size = len(value)
        head = tag + varint(size)
        out += (head, value)
        return len(head) + size

    def write_view(view: memoryview, out: Pieces) -> int:
        if not isinstance(view, memoryview) or not view.c_contiguous:
            raise TypeError
        head = tag + varint(view.nbytes)
        out += (head, view)
        return len(head) + view.nbytes

    return write_payload


def integer_writer(tag: bytes, kind: str) -> FieldWriter:
    small = [tag + byte for byte in ONE_BYTE]
    allowed = RANGES[kind]

    def write_integer(value: int, out: Pieces) -> int:
        number = index(value)
        if 0 <= number < 128:
            piece = small[number]
        elif number in allowed:
            piece = tag + varint(number)
        else:
            raise OverflowError
        out.append(piece)
        return len(piece)

    return write_integer


def float_writer(tag: bytes, kind: str) -> FieldWriter:
    pack = struct.Struct("<f" if kind == "float" else "<d").pack

    def write_float(value: float, out: Pieces) -> int:
        piece = tag + pack(value)
        out.append(piece)
        return len(piece)

    return write_float


def packed_writer(tag: bytes, kind: str) -> FieldWriter:
    write = payload_writer(tag)
    pack: Callable[[Any, str], Payload] = pack_floats if kind in FIXED else pack_integers

    def write_array(values: Numbers[int] | Numbers[float], out: Pieces) -> int:
        return write(pack(values, kind), out) if len(values) else 0

    return write_array


def pack_floats(values: Numbers[float], kind: str) -> Payload:
    if not isinstance(values, np.ndarray):
        return struct.pack(f"<{len(values)}{FIXED[kind].char}", *values)
    if values.dtype.kind not in "fiu":
        raise TypeError
    with np.errstate(over="raise"):
        return np.ascontiguousarray(values, FIXED[kind]).data.cast("B")


def pack_integers(values: Numbers[int], kind: str) -> Payload:
    allowed = RANGES[kind]
    if not isinstance(values, np.ndarray):
        integers = [index(value) for value in values]
        if not all(value in allowed for value in integers):
            raise OverflowError
        return b"".join(map(varint, integers))
    if values.dtype.kind not in "iu":
        raise TypeError
    array = cast("NDArray[np.integer]", values)
    if int(array.min()) not in allowed or int(array.max()) not in allowed:
        raise OverflowError
    return varints(array)


def encoding_errors(record: Record, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and reason of every defect that prevents the record from being encoded."""
    for name, value in record.__dict__.items():
        field = record.BY_NAME.get(name)
        field_path = f"{path}.{name}" if path else name
        if field is None:
            if name != "_unknown":
                yield field_path, f"{type(record).__name__} has no such field"
        elif not field.repeated:
            yield from value_errors(field, value, field_path) if value is not None else ()
        elif isinstance(value, SEQUENCES):
            for i, item in enumerate(value):
                yield from value_errors(field, item, f"{field_path}[{i}]")
        elif value is not None:
            yield field_path, f"the value must be a list; got {brief(value)}"


def value_errors(field: Field, value: object, path: str) -> Iterator[tuple[str, str]]:
    if why := value_error(field, value):
        yield path, why
    elif isinstance(value, Record):
        yield from encoding_errors(value, path)


def varint(value: int) -> bytes:
    """`value` as a varint; a negative number has ten bytes, as protobuf requires for int32, int64 and enum."""
    if 0 <= value < 128:
        return ONE_BYTE[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(values: NDArray[np.integer]) -> bytes:
    """The concatenated varints of `values`; the loop writes byte k of all varints that have more than k bytes."""
    bits = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    widths = np.ones(len(bits), np.int64)
    for k in range(1, 10):
        widths += bits >= np.uint64(1) << np.uint64(7 * k)
    starts = np.cumsum(widths) - widths
    out = np.empty(int(widths.sum()), np.uint8)
    for k in range(int(widths.max(initial=0))):
        has_byte = widths > k
        low = (bits[has_byte] >> np.uint64(7 * k)) & np.uint64(0x7F)
        continues = np.where(widths[has_byte] > k + 1, np.uint64(0x80), np.uint64(0))
        out[starts[has_byte] + k] = (low | continues).astype(np.uint8)
    return out.tobytes()
