"""Tags of unknown fields, which records keep undecoded."""

from __future__ import annotations

from typing import cast

from sardonyx._src.proto.record import Field, Payload, Record


def tag_of(field: Payload) -> tuple[int, int]:
    """The number and the wire type of an undecoded field."""
    tag = shift = 0
    for byte in bytes(field[:10]):
        tag |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return tag >> 3, tag & 7


def has_value(record: Record, field: Field) -> bool:
    """Whether a field is set; a list must not be empty."""
    return record.has(field.name) and (
        not field.repeated or len(cast("list[object]", getattr(record, field.name))) > 0
    )
