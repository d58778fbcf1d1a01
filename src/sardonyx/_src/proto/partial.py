"""Partial decoding: the fields of damaged data that can be decoded, so that a broken model can be shown."""

from __future__ import annotations

import mmap
from typing import cast

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.proto.binary import path_to
from sardonyx._src.proto.decoders import DECODERS
from sardonyx._src.proto.record import Field, Payload, Record, RecordT, merge
from sardonyx._src.proto.wire import Buffer, DecodeContext, Limits, WireError, long_tag, skip, varint

MAX_DEPTH = 128  # levels of nested messages that are decoded in part; deeper ones are left out


@dataclass(frozen=True, slots=True)
class ScannedField:
    """A field of encoded data: its tag is at `start`, its value from `value` to `end`.

    is_whole: whether the value is as long as the data state; the last field of truncated data is not.
    """

    tag: int
    start: int
    value: int
    end: int
    is_whole: bool


def decode_partially(
    data: Payload | bytearray | mmap.mmap, message: type[RecordT], limits: Limits | None = None
) -> tuple[RecordT, str]:
    """The record of the fields that can be decoded, and the path of the first fault, as `graph.node[3].input`.

    A fault is a field that does not decode.  The other fields of its message are decoded, and so are the fields after the
    message; but in a message with a field that runs past its end, no later field is decoded.
    """
    buffer: Buffer = data if isinstance(data, bytes | mmap.mmap) else bytes(data)
    decoder = PartialDecoder(buffer, limits or Limits())
    record = decoder.decode(0, len(buffer), message, MAX_DEPTH)
    return record, "" if decoder.fault is None else path_to(buffer, message, decoder.fault)


class PartialDecoder:
    """Decodes the fields that can be decoded; `fault` is the position of the first one that cannot, or None."""

    def __init__(self, buffer: Buffer, limits: Limits) -> None:
        self.buffer, self.limits = buffer, limits
        self.fault: int | None = None

    def decode(self, p: int, end: int, message: type[RecordT], depth: int) -> RecordT:
        """The record of the fields of buffer[p:end].  depth: the levels of inner messages that may be decoded in part."""
        fields = {tag: field for field in message.FIELDS for tag in field.tags}
        result = message()
        while p < end:
            part = self.next_field(p, end)
            if part is None:
                self.report(p)
                break
            record = self.decode_field(part, message) if part.is_whole else None
            if record is None:
                record = self.decode_inside(part, message, fields.get(part.tag), depth)
            if record is not None:
                merge(result, record)
            p = part.end
        return result

    def report(self, position: int) -> None:
        if self.fault is None:
            self.fault = position

    def next_field(self, start: int, end: int) -> ScannedField | None:
        """The field at `start`, at most up to the end of its message; None if no tag or length can be read there."""
        try:
            tag, p = long_tag(self.buffer, start)
            value = varint(self.buffer, p)[1] if tag & 7 == 2 else p
        except (WireError, IndexError):
            return None
        try:
            return ScannedField(tag, start, value, skip(self.buffer, p, end, tag, start), is_whole=True)
        except (WireError, IndexError):
            return ScannedField(tag, start, value, end, is_whole=False) if value <= end else None

    def decode_field(self, part: ScannedField, message: type[RecordT]) -> RecordT | None:
        """A record with one field; None for a value that does not decode."""
        context = DecodeContext(self.buffer, self.limits)
        try:
            return cast(RecordT, DECODERS[message](self.buffer, part.start, part.end, context))
        except (WireError, IndexError, LimitError, RecursionError):
            return None

    def decode_inside(
        self, part: ScannedField, message: type[RecordT], field: Field | None, depth: int
    ) -> RecordT | None:
        """A record with the readable part of one field; None for a value that is no message."""
        if field is None or field.message is None or part.tag & 7 != 2 or not depth:
            self.report(part.start)
            return None
        inner: Record = self.decode(part.value, part.end, field.message, depth - 1)
        if not part.is_whole:
            self.report(max(part.start, part.end - 1))
        result = message()
        result.set(field.name, [inner] if field.repeated else inner)
        return result
