"""SX004 unknown-field: a field that onnx.proto does not have, or once more in another encoding.

Clause: Versioning.md, "IR versioning"
Catalogue: -
Why:    the file may be of a later version of ONNX, or of a dialect; what the field means is lost on every reader that
        does not know it.
Bad:    <unknown: [hex "9a060178"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import NEWEST_IR, Context
from sardonyx._src.check.wire_tags import is_given, tag_of
from sardonyx._src.proto.record import Record


@rule("SX004", "info", visits=Record, needs="_unknown")
def unknown_field(record: Record, context: Context) -> Iterator[Finding]:
    for i, field in enumerate(record.unknown):
        number, _ = tag_of(field)
        known = next((f for f in record.FIELDS if f.number == number), None)
        if known is None:
            says = f"{type(record).__name__} has no field number {number} in IR version {NEWEST_IR}"
            help_ = "nothing, if a tool that knows the field wrote it on purpose"
            yield Finding(f"unknown[{i}]", says, help_)
        elif is_given(record, known):
            says = f"{known.name} stands here once more, in another encoding, which readers skip"
            yield Finding(f"unknown[{i}]", says, "drop the one that readers skip")
