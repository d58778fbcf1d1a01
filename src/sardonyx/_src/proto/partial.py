"""Partial decoding: what data that do not decode still hold, so that a broken model can be shown."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import cast

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.binary import path_to
from sardonyx._src.proto.decoders import DECODERS
from sardonyx._src.proto.record import Field, Payload, Record, RecordT, merge
from sardonyx._src.proto.wire import Buffer, DecodeContext, Limits, WireError, long_tag, skip, varint

MAX_DEPTH = 128  # of messages that are decoded in part; deeper ones are left out


@dataclass(frozen=True, slots=True)
class ScannedField:
    """A field of encoded data: from its tag at `start` to `end`, its value from `value`.

    is_whole: whether the value has the length that it states; the last field of shortened data has not.
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

    A message with a fault keeps the fields beside the fault, and the fields that follow the message are decoded, too.
    Nothing is decoded of a message after a field that runs past its end.
    """
    buffer: Buffer = data if isinstance(data, bytes | mmap.mmap) else bytes(data)
    decoder = PartialDecoder(buffer, limits or Limits())
    record = decoder.decode(0, len(buffer), message, MAX_DEPTH)
    return record, "" if decoder.fault is None else path_to(buffer, message, decoder.fault)


class PartialDecoder:
    """Decodes what can be decoded; `fault` is the position of the first field that cannot."""

    def __init__(self, buffer: Buffer, limits: Limits) -> None:
        self.buffer, self.limits = buffer, limits
        self.fault: int | None = None

    def decode(self, p: int, end: int, message: type[RecordT], depth: int) -> RecordT:
        """The record of the fields of buffer[p:end]; `depth` levels of messages may be decoded in part."""
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
        """The field at `start`, shortened to the end of its message; None where no field can be told."""
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
