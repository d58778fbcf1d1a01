"""SX003 wrong-wire-type: a field has the encoding of another type than its own.

Clause: protobuf encoding, "Unknown Fields"; onnx.proto
Catalogue: WIR-03
Why:    readers take such a field for an unknown one: its value is lost, whatever it was meant to be.
Bad:    <unknown: [hex "2a0178"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <model_version: 1> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.wire_tags import is_given, tag_of
from sardonyx._src.proto.record import Record


@rule("SX003", visits=Record, needs="_unknown")
def wrong_wire_type(record: Record, context: Context) -> Iterator[Finding]:
    """Silent where the field has a value in its own encoding, too: SX004 tells of that."""
    for field in record.unknown:
        number, wire = tag_of(field)
        known = next((f for f in record.FIELDS if f.number == number), None)
        if known is not None and not is_given(record, known):
            says = f"{known.name} is a {known.kind}, but comes with wire type {wire}"
            yield Finding(known.name, says, f"write {known.name} as a {known.kind}, or leave it out")
