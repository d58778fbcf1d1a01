"""Details of records that the IR does not represent: collected on reading, restored on writing.

Examples are unknown fields, fields that are present with their default value, and fields that are left out.
`SourceDetails` explains the words: stated and omitted fields, and parts, which are inner messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import copysign
from typing import cast

from sardonyx._src.ir.details import PartKey, Scalar, SourceDetails, Stated
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Field, FieldSet, Record, equal, is_empty

SCALARS = {str, int, float, bytes, memoryview}
KEYED: dict[type[Record], str] = {  # entries that are identified by a key, not by their position
    m.StringStringEntryProto: "key",
    m.IntIntListEntryProto: "key",
    m.OperatorSetIdProto: "domain",
}


def own_details(
    record: Record,
    always: Sequence[str] = (),
    parts: Iterable[tuple[PartKey, SourceDetails]] = (),
    stated: Sequence[tuple[str, Stated]] = (),
) -> SourceDetails | None:
    """The details of the fields of a record itself, without inner messages that are IR objects; None if there are none.

    Writing an object sets each scalar field that does not have its default value.
    always: scalar fields that are written even with their default value.
    parts: the details of inner messages that are no IR objects.
    stated: other fields of the record that writing the object would not set, with their values.
    """
    fields = record.__dict__
    defaults = tuple(
        [
            n
            for n, v in fields.items()
            if type(v) in SCALARS and not v and n not in always and not is_negative_zero(v)
        ]
    )
    omitted = tuple([name for name in always if fields.get(name) is None])
    unknown, parts = record.unknown, tuple(parts)
    if unknown or parts or stated:
        pairs = (*((name, getattr(type(record), name)) for name in defaults), *stated)
        return SourceDetails(tuple(unknown), pairs, omitted, parts)
    return share((type(record), defaults), omitted) if defaults or omitted else None


@lru_cache(maxsize=1024)
def share(field_set: FieldSet, omitted: tuple[str, ...]) -> SourceDetails:
    """Details with only stated defaults and omitted fields.  Equal ones are one object: files repeat them for every node.

    field_set: the class of the record and its fields with default values.
    """
    message, defaults = field_set
    return SourceDetails(stated=tuple((name, getattr(message, name)) for name in defaults), omitted=omitted)


def difference(record: Record, written: Record) -> SourceDetails | None:
    """The details that turn `written`, the record of the object that was read from `record`, into `record` again."""
    stated: list[tuple[str, Stated]] = []
    omitted: list[str] = []
    parts: list[tuple[PartKey, SourceDetails]] = []
    for field in record.FIELDS:
        name = field.name
        if field.repeated:
            if field.message:
                parts += entry_differences(name, entries_of(record, name), entries_of(written, name))
        elif record.has(name):
            value = getattr(record, name)
            if not written.has(name):
                stated.append((name, as_stated(value)))
            elif isinstance(value, Record):
                if part := difference(value, getattr(written, name)):
                    parts.append((PartKey(name), part))
            elif not getattr(written, name) and not equal(value, getattr(written, name)):
                stated.append((name, value))  # only for a default value, which is all that `restore` replaces
        elif written.has(name):
            omitted.append(name)
    if not (stated or omitted or parts or record.unknown):
        return None
    return SourceDetails(tuple(record.unknown), tuple(stated), tuple(omitted), tuple(parts))


def entries_of(record: Record, name: str) -> list[Record]:
    return cast("list[Record]", record.__dict__.get(name) or [])


def entry_differences(
    name: str, records: Sequence[Record], written: Sequence[Record]
) -> Iterator[tuple[PartKey, SourceDetails]]:
    """The details of each entry of a repeated field; written: the entries that writing the object would produce."""
    written_entries = dict(zip(entry_keys(name, written), written, strict=True))
    for key, record in zip(entry_keys(name, records), records, strict=True):
        entry = written_entries.get(key)
        if entry is not None and record.__dict__ != entry.__dict__ and (part := difference(record, entry)):
            yield key, part


def entry_keys(name: str, records: Sequence[Record]) -> list[PartKey]:
    """The key of each entry of a repeated field: its position, or its key and how many later entries have the same."""
    if not records or type(records[0]) not in KEYED:
        return [PartKey(name, i, len(records)) for i in range(len(records))]
    later: Counter[str] = Counter()
    result: list[PartKey] = []
    for record in reversed(records):
        key = str(getattr(record, KEYED[type(record)]))
        key = "" if key == "ai.onnx" else key  # the two names of the default domain
        result.append(PartKey(name, key, later=later[key]))
        later[key] += 1
    return result[::-1]


def as_stated(value: Scalar | Record) -> Stated:
    """The value of a field, with messages as details, for a field that the written record leaves out completely."""
    if not isinstance(value, Record):
        return value
    stated: list[tuple[str, Stated]] = []
    for field, part in value.present():
        if isinstance(part, list):
            stated.append((field.name, tuple(cast(SourceDetails, as_stated(entry)) for entry in part)))
        else:
            stated.append((field.name, as_stated(cast("Scalar | Record", part))))
    return SourceDetails(tuple(value.unknown), tuple(stated))


# --- restoring -------------------------------------------------------------------------------


def restore(record: Record, details: SourceDetails | None) -> None:
    """Adds the details of an object to its record; fields that writing the object has set are left as they are."""
    if details is None:
        return
    for name, value in details.stated:
        field = record.BY_NAME[name]
        if not record.__dict__.get(name) and not (field.oneof and record.which(field.oneof)):
            record.set(name, build(field, value))
    for name in details.omitted:
        if is_default(record.__dict__.get(name)):
            record.clear(name)
    for key, part in details.parts:
        for inner in find_parts(record, key):
            restore(inner, part)
    if details.unknown:
        record.add_unknown_fields(details.unknown)


def build(field: Field, value: Stated) -> object:
    """The value of a field from its stated form, in which details stand for messages."""
    if isinstance(value, tuple):
        return [build(field, part) for part in value]
    if not isinstance(value, SourceDetails):
        return value
    assert field.message is not None, f"{field.name} must be a message to have details"
    record = field.message()
    restore(record, value)
    return record


def is_default(value: object) -> bool:
    if isinstance(value, Record):
        return not value.__dict__
    return is_empty(value) or (value == 0 and not is_negative_zero(value))


def is_negative_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0 and copysign(1, value) < 0


def find_parts(record: Record, key: PartKey) -> Iterator[Record]:
    """The inner messages that a key names; none if the record does not have them any more."""
    if record.BY_NAME[key.field].repeated:
        entries = entries_of(record, key.field)
        yield from (e for e, own in zip(entries, entry_keys(key.field, entries), strict=True) if own == key)
    elif isinstance(value := record.__dict__.get(key.field), Record):
        yield value


def has_lost_fields(record: Record, details: SourceDetails) -> bool:
    """Whether the details have unknown fields of parts that the record does not have."""
    for key, part in details.parts:
        matches = [*find_parts(record, key)]
        if has_unknown_fields(part) if not matches else any(has_lost_fields(m, part) for m in matches):
            return True
    return False


def has_unknown_fields(details: SourceDetails) -> bool:
    return bool(details.unknown) or any(has_unknown_fields(part) for _, part in details.parts)
