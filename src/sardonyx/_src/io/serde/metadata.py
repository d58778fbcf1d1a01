"""Conversion of metadata and unknown fields between records and IR."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.model import Note
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Payload, Record


def metadata_from(
    entries: Sequence[m.StringStringEntryProto], notes: list[Note], where: str
) -> dict[str, str]:
    """The entries as a dict; the last value of a duplicate key applies, with a note."""
    result: dict[str, str] = {}
    for entry in entries:
        if entry.key in result:
            notes.append(Note(where, f"metadata key {entry.key!r} occurs twice: the last value applies"))
        result[entry.key] = entry.value
    return result


def metadata_to(metadata: dict[str, str]) -> list[m.StringStringEntryProto]:
    return [m.StringStringEntryProto(key=key, value=value) for key, value in metadata.items()]


def restore_unknown(record: Record, fields: Sequence[Payload] | None) -> None:
    """Adds the unknown fields of an IR object to its record."""
    for field in fields or ():
        record.add_unknown(field)
