"""Primitives of the protobuf wire format for the decoders: varints, payload views, unknown fields, limits.

Positions are relative to the start of the current buffer, which is the whole data or a copied part of it.  In these
functions, b is the buffer, p a position, q the end of a value, and e the end of a message.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.proto.record import Numbers, Payload, Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

Buffer = bytes | mmap.mmap
# The fields of an attribute, and the names of those that are lists and must be copied.
AttributeTemplate: TypeAlias = "tuple[dict[str, Any], tuple[str, ...]]"
R_co = TypeVar("R_co", bound=Record, covariant=True)
SHORT_MESSAGE_BYTES = 4  # a shorter message contains nothing that a model needs often
# Accepted short messages: 10,000, or a 16th of the limit of records if that is more.
SHORT_MESSAGES, SHORT_MESSAGES_SHARE = 10_000, 16
VIEW_FROM = 1024  # bytes from which a payload stays a view of the data it was read from
COPY_UP_TO = 1 << 16  # bytes up to which a mapped message is read from a copy, which is indexed faster

f32 = struct.Struct("<f").unpack_from
f64 = struct.Struct("<d").unpack_from


class WireError(Exception):
    """Malformed wire data; `position` is relative to the start of the current buffer."""

    def __init__(self, why: str, position: int) -> None:
        super().__init__(why)
        self.why, self.position = why, position


def too_long(start: int, p: int, q: int, e: int) -> WireError:
    """The error for a field that starts at `start` with a value b[p:q], in a message that ends at e."""
    what = f"the length of a field must be at most {max(e - p, 0)}, the bytes left in its message"
    return WireError(f"{what}; got {q - p}", start)


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on what a decoder accepts; the caller can raise each of them."""

    nesting: int = 128  # levels of messages that contain messages of their own kind: graphs, types, sequences
    records: int = 5_000_000  # messages of all kinds
    size: int = 1 << 42  # bytes of the whole data

    @property
    def short_messages(self) -> int:
        """The number of accepted messages of fewer than SHORT_MESSAGE_BYTES; dims, which are usual, do not count."""
        return max(SHORT_MESSAGES, self.records // SHORT_MESSAGES_SHARE)


class UndecodedRun:
    """Consecutive fields of one tag that a decoder has skipped.

    records: the list to which the decoder would have appended the decoded fields.
    begins, ends: the range of the value of each field in `context.buffer`, from `base` on.
    depth: the levels of nesting that the fields may have.
    """

    def __init__(
        self, context: DecodeContext, records: Sequence[Record], begins: array[int], ends: array[int]
    ) -> None:
        self.context, self.records, self.begins, self.ends = context, records, begins, ends
        self.base, self.depth = context.base, context.depth


class DecodeContext:
    """State of one decode.

    buffer, view: the whole data, and a view of them.
    base: the offset of the current buffer in the data.
    depth, records, short_messages: what remains of the limits on nesting, messages and short messages.
    uncounted: whether the data are too short to contain more messages than allowed, so that they need not be counted.
    attributes: templates of attributes, by their encoding.
    undecoded: the runs that decoders have skipped, by tag; None if they must not skip any.
    """

    __slots__ = (
        "attributes",
        "base",
        "buffer",
        "depth",
        "limits",
        "records",
        "short_messages",
        "uncounted",
        "undecoded",
        "view",
    )

    def __init__(
        self, data: Buffer, limits: Limits, undecoded: dict[int, UndecodedRun] | None = None
    ) -> None:
        self.buffer = data
        self.view = memoryview(data)
        self.base = 0
        self.limits = limits
        self.depth = limits.nesting
        self.records = limits.records
        self.short_messages = limits.short_messages
        self.uncounted = len(data) < 2 * limits.records  # a message has at least two bytes
        self.attributes: dict[bytes, AttributeTemplate] = {}
        self.undecoded = undecoded

    def enter(self, position: int) -> None:
        """Counts one more level of nesting; raises LimitError above the limit."""
        self.depth -= 1
        if self.depth < 0:
            what = f"byte {self.base + position}: messages must be nested at most {self.limits.nesting} levels deep"
            raise LimitError(what, limit="nesting")

    def leave(self) -> None:
        self.depth += 1


class Decoder(Protocol[R_co]):
    """A function that decodes the message b[p:e]."""

    def __call__(self, b: Buffer, p: int, e: int, context: DecodeContext, /) -> R_co: ...


def chunk(
    decode: Decoder[R_co], b: Buffer, p: int, q: int, context: DecodeContext, *, may_be_short: bool = False
) -> R_co:
    """Decodes and counts the message b[p:q]; a short part of a memory map is decoded from a copy.

    may_be_short: whether many messages of a few bytes are usual, as dims are.
    """
    context.records -= 1
    context.short_messages -= q - p < SHORT_MESSAGE_BYTES and not may_be_short
    if context.records < 0 or context.short_messages < 0:
        most, kind = context.limits.records, "messages"
        if context.records >= 0:
            most, kind = context.limits.short_messages, f"messages of fewer than {SHORT_MESSAGE_BYTES} bytes"
        raise LimitError(f"the data must have at most {most} {kind}; got more", limit="records")
    if type(b) is bytes or q - p > COPY_UP_TO:
        return decode(b, p, q, context)
    depth = context.depth
    context.base += p
    try:
        record = decode(b[p:q], 0, q - p, context)
    except IndexError:  # a field runs past q: decode again from b, where the decoder can report the position
        context.base -= p
        context.depth = depth
        return decode(b, p, q, context)
    context.base -= p
    return record


def varint(b: Buffer, p: int) -> tuple[int, int]:
    """The varint at p as an unsigned 64-bit number, and its end."""
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
            raise WireError("a varint must have at most ten bytes", start)
    if result >> 64:
        raise WireError("a varint must fit in 64 bits", start)
    return result, p


def long_tag(b: Buffer, p: int) -> tuple[int, int]:
    """The tag at p (32 bits in at most five bytes), and its end."""
    tag, q = varint(b, p)
    if q - p > 5 or tag > 0xFFFFFFFF:
        raise WireError("a tag must fit in 32 bits", p)
    return tag, q


def to_int32(v: int) -> int:
    """The low 32 bits of a varint as a signed number: protobuf's decoding of int32 and enums."""
    return (v & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def payload(b: Buffer, p: int, q: int, context: DecodeContext) -> Payload:
    """b[p:q]; a view of the whole data if it is long."""
    if q - p < VIEW_FROM:
        return b[p:q]
    return context.view[context.base + p : context.base + q]


def skip(b: Buffer, p: int, e: int, tag: int, start: int) -> int:
    """The end of an unknown field with a tag that has been read; a group is skipped with all groups nested in it."""
    groups: list[int] = []
    while True:
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise WireError("a field number must be positive; got 0", start)
        if wire == 3:
            groups.append(number)
        elif wire == 4:
            if not groups or groups.pop() != number:
                raise WireError("an end-group tag must match an open group", start)
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
    raise WireError(f"a wire type must be 0 to 5; got {wire}", start)


# --- packed numbers --------------------------------------------------------------------------


def unpack_f32(b: Buffer, p: int, q: int, context: DecodeContext) -> Numbers[float]:
    return unpack_floats(b, p, q, context, np.dtype("<f4"))


def unpack_f64(b: Buffer, p: int, q: int, context: DecodeContext) -> Numbers[float]:
    return unpack_floats(b, p, q, context, np.dtype("<f8"))


def unpack_floats(
    b: Buffer, p: int, q: int, context: DecodeContext, dtype: np.dtype[np.floating]
) -> Numbers[float]:
    """A packed field of floats or doubles: a list if it is short, a view of the data if it is long."""
    count, rest = divmod(q - p, dtype.itemsize)
    if rest:
        what = f"the length of a packed field must be a multiple of {dtype.itemsize} bytes; got {q - p}"
        raise WireError(what, p)
    if q - p >= VIEW_FROM:
        return np.frombuffer(payload(b, p, q, context), dtype)
    return list(struct.unpack(f"<{count}{dtype.char}", b[p:q]))


VARINT_DTYPES: dict[str, type[np.integer]] = {"int32": np.int32, "int64": np.int64, "uint64": np.uint64}


def unpack_varints(b: Buffer, p: int, q: int, kind: Literal["int32", "int64", "uint64"]) -> Numbers[int]:
    """A packed field of varints: a list if it is short, an array if it is long."""
    if q - p >= VIEW_FROM:
        return varint_array(np.frombuffer(b[p:q], np.uint8), p).astype(VARINT_DTYPES[kind])
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
    """All varints of `data`.  p: the position of the first byte in the current buffer, for errors."""
    ends = np.flatnonzero(data < 128)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise WireError("a number runs past the end of its field", p + len(data) - 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    widths = ends - starts + 1
    wide = np.flatnonzero((widths > 10) | ((widths == 10) & (data[ends] > 1)))
    if len(wide):
        raise WireError("a varint must fit in 64 bits", p + int(starts[wide[0]]))
    result = np.zeros(len(ends), np.uint64)
    for k in range(int(widths.max())):
        has_byte = widths > k
        low = (data[starts[has_byte] + k] & np.uint8(0x7F)).astype(np.uint64)
        result[has_byte] |= low << np.uint64(7 * k)
    return result
