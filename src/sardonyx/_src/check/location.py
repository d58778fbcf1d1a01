"""How a place in a document is written: `graph.node[3] "stem" (Conv).input[1]`."""

from __future__ import annotations

import json
from typing import cast

from sardonyx._src.check.context import Trail
from sardonyx._src.proto.messages import NodeProto
from sardonyx._src.proto.record import Record

LONGEST = 64


def location(trail: Trail, at: str) -> str:
    """The place `at`, as seen from the record at the end of `trail`, from the document on."""
    parts = [step(t) for t in reversed(list(trail.outwards())) if t.field is not None]
    record: Record | None = trail.record
    for part in at.split(".") if at else ():
        record = inside(record, part)
        parts.append(part + (titled(record) if record is not None and part.endswith("]") else ""))
    return ".".join(parts)


def step(trail: Trail) -> str:
    assert trail.field is not None, "the document itself has no name"
    return (
        f"{trail.field.name}[{trail.index}]{titled(trail.record)}"
        if trail.field.repeated
        else trail.field.name
    )


def inside(record: Record | None, part: str) -> Record | None:
    """The record that a part of a path leads to, or None where it leads to no record."""
    name, _, index = part.removesuffix("]").partition("[")
    row = record.BY_NAME.get(name) if record is not None else None
    if row is None or row.message is None:
        return None
    value: object = getattr(record, name)
    return cast(Record, cast("list[Record]", value)[int(index)] if index else value)


def titled(record: Record) -> str:
    """What names a record of a list: its name, and of a node the operator."""
    name = getattr(record, "name", "")
    title = f" {quoted(name)}" if name else ""
    return f"{title} ({printable(record.op_type)})" if isinstance(record, NodeProto) else title


def quoted(text: str) -> str:
    """A name in double quotes, cut short where it is long, with signs that do not print escaped."""
    short = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    return json.dumps(short, ensure_ascii=not short.isprintable())


def printable(text: str) -> str:
    return text if text.isprintable() and len(text) <= LONGEST else quoted(text)[1:-1]
