"""Writers of the binary form: for every field a function, chosen once, that appends the field's pieces.

A writer takes the field's value and the list of pieces, and returns how many bytes it appended.  A value that
does not fit makes it raise whatever comes first; `faults` then finds where and why.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from operator import index
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.proto.record import RANGES, Field, Numbers, Payload, Record, Shape, brief, flaw, ordered

Pieces: TypeAlias = list[Payload]
Writer: TypeAlias = Callable[[Any, Pieces], int]  # the value's type depends on the field
FIXED: dict[str, np.dtype[np.floating]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}
SEQUENCES = (list, tuple, np.ndarray)
BYTE = [bytes((n,)) for n in range(128)]


def write_message(record: Record, out: Pieces) -> int:
    """Appends the record's pieces: known fields by number, then unknown ones; returns their bytes.

    Takes one stack frame a message, as reading does, so that all that was read can be written.
    """
    size = 0
    values = record.__dict__
    for field, tag, write in writers((type(record), tuple(values))):
        value = values[field.name]
        if value is None:
            continue
        if write:
            size += write(value, out)
            continue
        for part in value if field.repeated else (value,):
            if type(part) is not field.message:
                raise TypeError
            place = len(out)
            out.append(b"")  # the length is known once the message is written
            length = write_message(part, out)
            out[place] = head = tag + (BYTE[length] if length < 128 else varint(length))
            size += len(head) + length
    for extra in values.get("_unknown", ()):
        out.append(extra)
        size += len(extra)
    return size


@lru_cache(maxsize=4096)
def writers(shape: Shape) -> tuple[tuple[Field, bytes, Writer | None], ...]:
    """The fields that are set, by number, each with its tag and, unless it holds messages, its writer."""
    return tuple((field, tag_of(field), writer(field)) for field in ordered(shape))


def tag_of(field: Field) -> bytes:
    return varint(field.tags[1 if field.packed else 0])


@cache
def writer(field: Field) -> Writer | None:
    if field.message:
        return None
    tag = tag_of(field)
    if field.packed:
        return packed(tag, field.kind)
    if field.kind == "string":
        write = text(tag)
    elif field.kind == "bytes":
        write = payload(tag)
    elif field.kind in FIXED:
        write = fixed(tag, field.kind)
    else:
        write = integer(tag, field.kind)
    return each(write) if field.repeated else write


def each(write: Writer) -> Writer:
    def write_each(values: object, out: Pieces) -> int:
        if not isinstance(values, SEQUENCES):  # a string would be taken letter by letter
            raise TypeError
        size = 0
        for value in values:
            size += write(value, out)
        return size

    return write_each


def text(tag: bytes) -> Writer:
    def write_text(value: str, out: Pieces) -> int:
        data = value.encode("utf-8", "surrogateescape")
        size = len(data)
        piece = tag + (BYTE[size] if size < 128 else varint(size)) + data
        out.append(piece)
        return len(piece)

    return write_text


def payload(tag: bytes) -> Writer:
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


def integer(tag: bytes, kind: str) -> Writer:
    small = [tag + byte for byte in BYTE]
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


def fixed(tag: bytes, kind: str) -> Writer:
    pack = struct.Struct("<f" if kind == "float" else "<d").pack

    def write_fixed(value: float, out: Pieces) -> int:
        piece = tag + pack(value)
        out.append(piece)
        return len(piece)

    return write_fixed


def packed(tag: bytes, kind: str) -> Writer:
    write = payload(tag)
    pack: Callable[[Any, str], Payload] = packed_floats if kind in FIXED else packed_integers

    def write_packed(values: Numbers[int] | Numbers[float], out: Pieces) -> int:
        return write(pack(values, kind), out) if len(values) else 0

    return write_packed


def packed_floats(values: Numbers[float], kind: str) -> Payload:
    if not isinstance(values, np.ndarray):
        return struct.pack(f"<{len(values)}{FIXED[kind].char}", *values)
    if values.dtype.kind not in "fiu":
        raise TypeError
    with np.errstate(over="raise"):
        return np.ascontiguousarray(values, FIXED[kind]).data.cast("B")


def packed_integers(values: Numbers[int], kind: str) -> Payload:
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


def faults(record: Record, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and reason of all that keeps the record from being written."""
    for name, value in record.__dict__.items():
        field = record.BY_NAME.get(name)
        at = f"{path}.{name}" if path else name
        if field is None:
            if name != "_unknown":
                yield at, f"{type(record).__name__} has no such field"
        elif not field.repeated:
            yield from faults_of(field, value, at) if value is not None else ()
        elif isinstance(value, SEQUENCES):
            for i, one in enumerate(value):
                yield from faults_of(field, one, f"{at}[{i}]")
        elif value is not None:
            yield at, f"{brief(value)} stands where a list is wanted"


def faults_of(field: Field, value: object, path: str) -> Iterator[tuple[str, str]]:
    if why := flaw(field, value):
        yield path, why
    elif isinstance(value, Record):
        yield from faults(value, path)


def varint(value: int) -> bytes:
    """`value` as a varint; negative numbers take ten bytes, as protobuf writes int32, int64 and enums."""
    if 0 <= value < 128:
        return BYTE[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(values: NDArray[np.integer]) -> bytes:
    """All of `values` as varints, one after the other."""
    bits = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    widths = np.ones(len(bits), np.int64)
    for k in range(1, 10):
        widths += bits >= np.uint64(1) << np.uint64(7 * k)
    starts = np.cumsum(widths) - widths
    out = np.empty(int(widths.sum()), np.uint8)
    for k in range(int(widths.max(initial=0))):
        some = widths > k
        low = (bits[some] >> np.uint64(7 * k)) & np.uint64(0x7F)
        more = np.where(widths[some] > k + 1, np.uint64(0x80), np.uint64(0))
        out[starts[some] + k] = (low | more).astype(np.uint8)
    return out.tobytes()
