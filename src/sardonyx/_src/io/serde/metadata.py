"""Conversion of metadata between records and IR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sardonyx._src.io.serde.details import entry_differences
from sardonyx._src.ir.details import PartKey, SourceDetails
from sardonyx._src.ir.model import Note
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

KEY_AND_VALUE = {"key", "value"}


def metadata_from(
    entries: Sequence[m.StringStringEntryProto], notes: list[Note], where: str
) -> dict[str, str]:
    """The entries as a dict; the last value of a duplicate key applies, with a note for each such key."""
    result = {entry.key: entry.value for entry in entries}
    if len(result) < len(entries):
        for key, count in Counter(entry.key for entry in entries).items():
            if count > 1:
                times = "twice" if count == 2 else f"{count} times"
                notes.append(Note(where, f"metadata key {key!r} occurs {times}: the last value applies"))
    return result


def metadata_to(metadata: dict[str, str]) -> list[m.StringStringEntryProto]:
    return [m.StringStringEntryProto(key=key, value=value) for key, value in metadata.items()]


def metadata_details(record: Record) -> Iterator[tuple[PartKey, SourceDetails]]:
    """The details of the entries of `metadata_props` that have more or less than a key and a value."""
    entries: list[m.StringStringEntryProto] = record.__dict__.get("metadata_props") or []
    if any(entry.__dict__.keys() != KEY_AND_VALUE for entry in entries):
        written = [m.StringStringEntryProto(key=entry.key, value=entry.value) for entry in entries]
        yield from entry_differences("metadata_props", entries, written)
