"""SX004 unknown-field: a field that onnx.proto does not define, or a second value of a field in another encoding.

Clause: Versioning.md, "IR versioning"
Catalogue: -
Why:    the file may follow a later version of ONNX or a dialect; readers that do not know the field ignore it.
Bad:    <unknown: [hex "9a060178"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.wire_tags import has_value, tag_of
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.proto.record import Record


@rule("SX004", "info", visits=Record, needs="_unknown")
def check_unknown_field(record: Record, context: RuleContext) -> Iterator[Finding]:
    for i, field in enumerate(record.unknown):
        number, _ = tag_of(field)
        known = next((f for f in record.FIELDS if f.number == number), None)
        if known is None:
            message = (
                f"{type(record).__name__} has no field number {number} in IR version {LATEST_IR_VERSION}"
            )
            help_ = "none needed if a tool that knows the field wrote it on purpose"
            yield Finding(f"unknown[{i}]", message, help_)
        elif has_value(record, known):
            message = f"{known.name} has a second value in another encoding, which readers skip"
            yield Finding(f"unknown[{i}]", message, "drop the value that readers skip")
