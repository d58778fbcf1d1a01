"""SX003 wrong-wire-type: a field has the wire type of another type.

Clause: protobuf encoding, "Unknown Fields"; onnx.proto
Catalogue: WIR-03
Why:    readers treat the field as unknown, and its value is lost.
Bad:    <unknown: [hex "2a0178"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <model_version: 1> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.wire_tags import has_value, tag_of
from sardonyx._src.proto.record import Record


@rule("SX003", visits=Record, needs="_unknown")
def check_wrong_wire_type(record: Record, context: RuleContext) -> Iterator[Finding]:
    """Not reported if the field also has a value in its own encoding, which SX004 reports."""
    for field in record.unknown:
        number, wire = tag_of(field)
        known = next((f for f in record.FIELDS if f.number == number), None)
        if known is not None and not has_value(record, known):
            message = f"{known.name} is a {known.kind}, but has wire type {wire}"
            yield Finding(known.name, message, f"write {known.name} as a {known.kind}, or leave it out")
