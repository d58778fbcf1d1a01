"""Protobuf's wire format for records: `decode` from bytes or a memory map, `encode` to bytes or in chunks.

Decoding copies no payload of 1 KiB or more and encoding in chunks concatenates none, so neither is limited to 2 GiB.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import TypeVar, cast

from sardonyx._src.errors import DecodeError, InvalidModel, LimitError
from sardonyx._src.proto.decoders import DECODERS
from sardonyx._src.proto.encoders import encoding_errors, write_message
from sardonyx._src.proto.record import Payload, Record
from sardonyx._src.proto.wire import (
    Buffer,
    DecodeContext,
    Limits,
    UndecodedRun,
    WireError,
    long_tag,
    skip,
    varint,
)

RecordT = TypeVar("RecordT", bound=Record)
TOO_DEEP = "messages are nested deeper than Python's recursion limit allows"


def decode(
    data: Payload | bytearray | mmap.mmap,
    message: type[RecordT],
    limits: Limits | None = None,
    source: str = "",
    undecoded: dict[int, UndecodedRun] | None = None,
) -> RecordT:
    """The record of type `message` that `data` encodes.

    Payloads of 1 KiB or more are views of `data`, which must then not change.
    source: names the data in error messages.
    undecoded: if given, decoders skip long runs of some repeated fields, and store them here by tag; the caller must
    decode these.  Errors in skipped fields are not found.
    Raises DecodeError, with byte offset and field path, for data that do not encode such a message, and LimitError for
    data that exceed `limits`.
    """
    limits = limits or Limits()
    buffer: Buffer = data if isinstance(data, bytes | mmap.mmap) else bytes(data)
    if len(buffer) > limits.size:
        raise LimitError(f"the data must have at most {limits.size} bytes; got {len(buffer)}", limit="size")
    context = DecodeContext(buffer, limits, undecoded)
    try:
        record = cast(RecordT, DECODERS[message](buffer, 0, len(buffer), context))
        context.undecoded = None
        return record
    except WireError as error:
        offset = byte_of_field = context.base + error.position
        why = error.why
    except IndexError:  # reading past the end of the data
        why, offset, byte_of_field = "the data ends inside a field", len(buffer), len(buffer) - 1
    except RecursionError:
        raise LimitError(TOO_DEEP, limit="sys.setrecursionlimit") from None
    raise DecodeError(why, offset=offset, path=path_to(buffer, message, byte_of_field), source=source)


def path_to(buffer: Buffer, message: type[Record], offset: int) -> str:
    """Path of the field that contains byte `offset`, as `graph.node[3].attribute[0]`, as far as the data can be parsed."""
    names: list[str] = []
    p, end = 0, len(buffer)
    inner: type[Record] | None = message
    while inner and (located := field_at(buffer, p, end, inner, offset)):
        name, p, end, inner = located
        names.append(name)
    return ".".join(names)


def field_at(
    buffer: Buffer, p: int, end: int, message: type[Record], offset: int
) -> tuple[str, int, int, type[Record] | None] | None:
    """The field of buffer[p:end] that contains `offset`: name with index, start and end of its value, message type."""
    fields = {tag: field for field in message.FIELDS for tag in field.tags}
    seen: dict[int, int] = {}
    while p < end:
        start, tag, value, stop = p, 0, end, end + 1
        try:
            tag, p = long_tag(buffer, p)
            value = varint(buffer, p)[1] if tag & 7 == 2 else p
            stop = skip(buffer, p, end, tag, start)
        except (WireError, IndexError):
            pass  # the data after this cannot be parsed, so that the offset is in this field
        if offset < stop:
            field = fields.get(tag)
            if field is None:
                return None
            name = (
                f"{field.name}[{seen.get(tag, 0)}]" if field.repeated and tag == field.tags[0] else field.name
            )
            return name, value, min(stop, end), field.message if offset >= value else None
        seen[tag] = seen.get(tag, 0) + 1
        p = stop
    return None


# --- encoding ---------------------------------------------------------------------------------


def encode(record: Record) -> bytes:
    """The record in the wire format: known fields in the order of their numbers, then unknown fields unchanged.

    Raises InvalidModel, with the field's path, for a value that does not fit its field.
    """
    return b"".join(chunks(record))


def chunks(record: Record) -> Iterator[Payload]:
    """The encoded record in pieces, which concatenated are `encode(record)`; payloads are not copied."""
    out: list[Payload] = []
    try:
        write_message(record, out)
    except RecursionError:
        raise LimitError(TOO_DEEP, limit="sys.setrecursionlimit") from None
    except (TypeError, AttributeError, ArithmeticError, UnicodeEncodeError, struct.error):
        for path, why in encoding_errors(record):
            raise InvalidModel(why, location=path) from None
        raise
    return iter(out)
