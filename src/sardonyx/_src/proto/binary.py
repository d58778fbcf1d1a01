"""The binary form of records: protobuf's wire format, read from memory maps and written in a stream.

Reading copies no payload of 1 KiB or more; writing joins nothing, so that neither has a wall at 2 GiB.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import TypeVar, cast

from sardonyx._src.errors import DecodeError, InvalidModel, LimitError
from sardonyx._src.proto.decoders import DECODERS
from sardonyx._src.proto.encoders import faults, write_message
from sardonyx._src.proto.record import Payload, Record
from sardonyx._src.proto.wire import Buffer, Context, Limits, WireError, long_tag, skip, varint

R = TypeVar("R", bound=Record)
TOO_DEEP = "messages are nested deeper than Python's own recursion limit allows"


def decode(
    data: Payload | bytearray | mmap.mmap, message: type[R], limits: Limits | None = None, source: str = ""
) -> R:
    """The `message` that `data` holds.

    Payloads of 1 KiB or more are views of `data`, which must then not change.
    Raises DecodeError, with byte offset and field path, for anything that is not such a message, and
    LimitError where it goes past `limits`.  `source` names the data in messages.
    """
    limits = limits or Limits()
    buffer: Buffer = data if isinstance(data, bytes | mmap.mmap) else bytes(data)
    if len(buffer) > limits.size:
        raise LimitError(f"the data has {len(buffer)} bytes, more than {limits.size}", limit="size")
    context = Context(buffer, limits)
    try:
        return cast(R, DECODERS[message](buffer, 0, len(buffer), context))
    except WireError as error:
        why, offset, inside = error.why, context.base + error.at, context.base + error.at
    except IndexError:  # reading past the end of the data
        why, offset, inside = "the data ends inside a field", len(buffer), len(buffer) - 1
    except RecursionError:
        raise LimitError(TOO_DEEP, limit="sys.setrecursionlimit") from None
    raise DecodeError(why, offset=offset, path=path_to(buffer, message, inside), source=source)


def path_to(buffer: Buffer, message: type[Record], offset: int) -> str:
    """The field that holds byte `offset`, as `graph.node[3].attribute[0]`: as far as the data can be followed."""
    names: list[str] = []
    p, end = 0, len(buffer)
    inner: type[Record] | None = message
    while inner and (found := field_at(buffer, p, end, inner, offset)):
        name, p, end, inner = found
        names.append(name)
    return ".".join(names)


def field_at(
    buffer: Buffer, p: int, end: int, message: type[Record], offset: int
) -> tuple[str, int, int, type[Record] | None] | None:
    """The field of buffer[p:end] that holds `offset`: its name and index, where its value lies, and its message."""
    fields = {tag: field for field in message.FIELDS for tag in field.tags}
    seen: dict[int, int] = {}
    while p < end:
        start, tag, value, stop = p, 0, end, end + 1
        try:
            tag, p = long_tag(buffer, p)
            value = varint(buffer, p)[1] if tag & 7 == 2 else p
            stop = skip(buffer, p, end, tag, start)
        except (WireError, IndexError):
            pass  # this is as far as the data can be read, so the offset lies here
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


# --- writing ---------------------------------------------------------------------------------


def encode(record: Record) -> bytes:
    """The record in the wire format: known fields by number, then unknown ones as they were read.

    Raises InvalidModel, with the field's path, for a value that its field cannot hold.
    """
    return b"".join(chunks(record))


def chunks(record: Record) -> Iterator[Payload]:
    """The pieces that make up `encode(record)`; long payloads are handed out as they are, uncopied."""
    out: list[Payload] = []
    try:
        write_message(record, out)
    except RecursionError:
        raise LimitError(TOO_DEEP, limit="sys.setrecursionlimit") from None
    except (TypeError, AttributeError, ArithmeticError, UnicodeEncodeError, struct.error):
        for path, why in faults(record):
            raise InvalidModel(why, location=path) from None
        raise
    return iter(out)
