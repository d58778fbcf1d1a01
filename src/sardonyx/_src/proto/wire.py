"""What the decoders share: varints, payload views, unknown fields, limits.

Positions count from the start of the buffer at hand, which is the whole data or a copied part of them.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.record import Numbers, Payload, Record

Buffer = bytes | mmap.mmap
R_co = TypeVar("R_co", bound=Record, covariant=True)
VIEW_FROM = 1024  # bytes; a payload at least this long stays a view of the data it was read from
COPY_UP_TO = 1 << 16  # bytes; a mapped message at most this long is read from a copy, which indexes faster

f32 = struct.Struct("<f").unpack_from
f64 = struct.Struct("<d").unpack_from


class WireError(Exception):
    """Bytes that are not protobuf; `at` counts from the start of the buffer at hand."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why, self.at = why, at


def too_long(start: int, p: int, q: int, e: int) -> WireError:
    """The fault of a field that starts at `start` with a value b[p:q], in a message that ends at e."""
    return WireError(f"the field wants {q - p} bytes, but its message has {max(e - p, 0)} more", start)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a decoder accepts; every bound can be raised by the caller."""

    nesting: int = 128  # messages that hold messages of their own kind: graphs, types, sequences
    records: int = 5_000_000  # messages of all kinds
    size: int = 1 << 42  # bytes of the whole data


class Context:
    """The data that is being decoded, and what is left of its limits."""

    __slots__ = ("base", "depth", "limits", "records", "uncounted", "view")

    def __init__(self, data: Buffer, limits: Limits) -> None:
        self.view = memoryview(data)
        self.base = 0  # where the buffer at hand starts in `view`
        self.limits = limits
        self.depth = limits.nesting
        self.records = limits.records
        self.uncounted = len(data) < 2 * limits.records  # a message takes two bytes at least

    def enter(self, at: int) -> None:
        self.depth -= 1
        if self.depth < 0:
            what = f"byte {self.base + at}: messages are nested more than {self.limits.nesting} levels deep"
            raise LimitError(what, limit="nesting")

    def leave(self) -> None:
        self.depth += 1


class Decoder(Protocol[R_co]):
    def __call__(self, b: Buffer, p: int, e: int, c: Context, /) -> R_co: ...


def chunk(decode: Decoder[R_co], b: Buffer, p: int, q: int, c: Context) -> R_co:
    """Decodes b[p:q], counted, and from a copy when it is a short part of a memory map."""
    c.records -= 1
    if c.records < 0:
        raise LimitError(f"the data holds more than {c.limits.records} messages", limit="records")
    if type(b) is bytes or q - p > COPY_UP_TO:
        return decode(b, p, q, c)
    depth = c.depth
    c.base += p
    try:
        record = decode(b[p:q], 0, q - p, c)
    except IndexError:  # a field runs past q: in place, the decoder sees where
        c.base -= p
        c.depth = depth
        return decode(b, p, q, c)
    c.base -= p
    return record


def varint(b: Buffer, p: int) -> tuple[int, int]:
    """The varint at p as an unsigned 64-bit number, and where it ends."""
    result = shift = 0
    start = p
    while True:
        byte = b[p]
        p += 1
        result |= (byte & 0x7F) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise WireError("a varint has more than ten bytes", start)
    if result >> 64:
        raise WireError("a varint does not fit 64 bits", start)
    return result, p


def long_tag(b: Buffer, p: int) -> tuple[int, int]:
    """The tag at p, which has 32 bits in at most five bytes, and where it ends."""
    tag, q = varint(b, p)
    if q - p > 5 or tag > 0xFFFFFFFF:
        raise WireError("a tag does not fit 32 bits", p)
    return tag, q


def to_int32(v: int) -> int:
    """The low 32 bits of a varint as a signed number, which is how protobuf reads int32 and enums."""
    return (v & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def payload(b: Buffer, p: int, q: int, c: Context) -> Payload:
    """b[p:q], as a view of the whole data when it is long."""
    if q - p < VIEW_FROM:
        return b[p:q]
    return c.view[c.base + p : c.base + q]


def skip(b: Buffer, p: int, e: int, tag: int, start: int) -> int:
    """Where the unknown field whose tag has been read ends; groups, which may nest, are skipped whole."""
    groups: list[int] = []
    while True:
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise WireError("0 is not a field number", start)
        if wire == 3:
            groups.append(number)
        elif wire == 4:
            if not groups or groups.pop() != number:
                raise WireError("a group ends that was not begun", start)
        else:
            p = skip_value(b, p, wire, start)
        if p > e:
            raise WireError("a field runs past the end of its message", start)
        if not groups:
            return p
        if p >= e:
            raise WireError("a group does not end", start)
        start = p
        tag, p = long_tag(b, p)


def skip_value(b: Buffer, p: int, wire: int, start: int) -> int:
    if wire == 0:
        return varint(b, p)[1]
    if wire == 1:
        return p + 8
    if wire == 5:
        return p + 4
    if wire == 2:
        n, p = varint(b, p)
        return p + n
    raise WireError(f"wire type {wire} does not exist", start)


# --- packed numbers --------------------------------------------------------------------------


def packed_f32(b: Buffer, p: int, q: int, c: Context) -> Numbers[float]:
    return packed_fixed(b, p, q, c, np.dtype("<f4"))


def packed_f64(b: Buffer, p: int, q: int, c: Context) -> Numbers[float]:
    return packed_fixed(b, p, q, c, np.dtype("<f8"))


def packed_fixed(b: Buffer, p: int, q: int, c: Context, dtype: np.dtype[np.floating]) -> Numbers[float]:
    """A packed field of floats or doubles: a list when it is short, a view of the data when it is long."""
    count, rest = divmod(q - p, dtype.itemsize)
    if rest:
        raise WireError(f"{q - p} bytes are not a whole number of {dtype.itemsize}-byte numbers", p)
    if q - p >= VIEW_FROM:
        return np.frombuffer(payload(b, p, q, c), dtype)
    return list(struct.unpack(f"<{count}{dtype.char}", b[p:q]))


INTEGERS: dict[str, type[np.integer]] = {"int32": np.int32, "int64": np.int64, "uint64": np.uint64}


def packed_varints(b: Buffer, p: int, q: int, kind: Literal["int32", "int64", "uint64"]) -> Numbers[int]:
    """A packed field of varints: a list when it is short, an array when it is long."""
    if q - p >= VIEW_FROM:
        return varint_array(np.frombuffer(b[p:q], np.uint8), p).astype(INTEGERS[kind])
    values: list[int] = []
    start = p
    while p < q:
        start = p
        v, p = varint(b, p)
        values.append(v)
    if p != q:
        raise WireError("a number runs past the end of its field", start)
    if kind == "int64":
        return [v - (1 << 64) if v >> 63 else v for v in values]
    return [to_int32(v) for v in values] if kind == "int32" else values


def varint_array(data: NDArray[np.uint8], p: int) -> NDArray[np.uint64]:
    """All varints of `data`, which starts at p of its buffer."""
    ends = np.flatnonzero(data < 128)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise WireError("a number runs past the end of its field", p + len(data) - 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    widths = ends - starts + 1
    wide = np.flatnonzero((widths > 10) | ((widths == 10) & (data[ends] > 1)))
    if len(wide):
        raise WireError("a varint does not fit 64 bits", p + int(starts[wide[0]]))
    result = np.zeros(len(ends), np.uint64)
    for k in range(int(widths.max())):
        some = widths > k
        result[some] |= (data[starts[some] + k] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * k)
    return result
