"""SX004 unknown-field: a field that onnx.proto does not have.

Clause: Versioning.md, "IR versioning"
Catalogue: -
Why:    the file may be of a later version of ONNX, or of a dialect; what the field means is lost on every reader that
        does not know it.
Bad:    <unknown: [hex "9a060178"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import NEWEST_IR, Context
from sardonyx.check.wire_tags import tag_of
from sardonyx.proto.record import Record


@rule("SX004", "info", visits=Record, needs="_unknown")
def unknown_field(record: Record, context: Context) -> Iterator[Finding]:
    for i, field in enumerate(record.unknown):
        number, _ = tag_of(field)
        if all(f.number != number for f in record.FIELDS):
            says = f"{type(record).__name__} has no field number {number} in IR version {NEWEST_IR}"
            yield Finding(
                f"unknown[{i}]", says, "nothing, if a tool that knows the field wrote it on purpose"
            )
