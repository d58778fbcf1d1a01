"""The text of a location in a document: `graph.node[3] "stem" (Conv).input[1]`."""

from __future__ import annotations

import json
from typing import cast

from sardonyx._src.check.engine.context import RecordPath
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import Record

MAX_QUOTED_CHARACTERS = 64


def location(record_path: RecordPath, path: str) -> str:
    """The location to which `path` leads from the record at the end of `record_path`, as a path from the document."""
    parts = [format_step(p) for p in reversed(list(record_path.ancestors())) if p.field is not None]
    record: Record | None = record_path.record
    for part in path.split(".") if path else ():
        record = child_at(record, part)
        parts.append(part + (title_of(record) if record is not None and part.endswith("]") else ""))
    return ".".join(parts)


def format_step(record_path: RecordPath) -> str:
    assert record_path.field is not None, "the document itself is in no field"
    return (
        f"{record_path.field.name}[{record_path.index}]{title_of(record_path.record)}"
        if record_path.field.repeated
        else record_path.field.name
    )


def child_at(record: Record | None, part: str) -> Record | None:
    """The record to which a part of a path leads; None if it leads to a value that is no record."""
    name, _, index = part.removesuffix("]").partition("[")
    row = record.BY_NAME.get(name) if record is not None else None
    if row is None or row.message is None:
        return None
    value: object = getattr(record, name)
    return cast(Record, cast("list[Record]", value)[int(index)] if index else value)


def title_of(record: Record) -> str:
    """The name of a record in a list, with the operator of a node."""
    name = getattr(record, "name", "")
    title = f" {quote(name)}" if name else ""
    return f"{title} ({printable(record.op_type)})" if isinstance(record, NodeProto) else title


def quote(text: str) -> str:
    """A name in double quotes, truncated if long, with unprintable characters escaped."""
    shortened = text if len(text) <= MAX_QUOTED_CHARACTERS else text[:MAX_QUOTED_CHARACTERS] + "..."
    return json.dumps(shortened, ensure_ascii=not shortened.isprintable())


def printable(text: str) -> str:
    return text if text.isprintable() and len(text) <= MAX_QUOTED_CHARACTERS else quote(text)[1:-1]
