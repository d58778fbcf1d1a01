"""Findings with their locations in the document."""

from __future__ import annotations

import re

from sardonyx._src.check.engine.api import Finding, Rule
from sardonyx._src.check.engine.context import RecordPath
from sardonyx._src.dataclass import dataclass
from sardonyx._src.proto.record import Record

PATH_PART = re.compile(r"(\w+)(?:\[(\d+)\])?\Z")
UNKNOWN_FIELD = 1 << 30  # number under which unknown fields sort after the known ones
Step = tuple[int, int]  # a step of a location: the number of a field and the index in it
Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding with its rule and location.

    steps: the location, as steps from the document.
    record_path: the path to the visited record.
    """

    rule: Rule
    finding: Finding
    steps: Steps
    record_path: RecordPath


def steps_to(record_path: RecordPath) -> Steps:
    steps = [(p.field.number, p.index) for p in record_path.ancestors() if p.field is not None]
    return tuple(reversed(steps))


def steps_of(message: type[Record] | None, path: str) -> Steps:
    """A finding's path as steps; asserts that the path exists."""
    steps: list[Step] = []
    for part in path.split(".") if path else ():
        match = PATH_PART.match(part)
        assert match is not None and message is not None, f"{path!r} is not a path"
        name, index = match[1], int(match[2] or -1)
        if name == "unknown":
            steps.append((UNKNOWN_FIELD, index))
            message = None
            continue
        row = message.BY_NAME[name]
        steps.append((row.number, index))
        message = row.message
    return tuple(steps)
