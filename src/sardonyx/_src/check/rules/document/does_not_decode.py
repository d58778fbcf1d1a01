"""SX001 does-not-decode: the bytes are not a protobuf message.

Clause: onnx.proto; protobuf encoding, "Message Structure"
Catalogue: WIR-01 WIR-05
Why:    a document that does not decode cannot be checked: a field ends after the data, or a tag or length is invalid.
        The location states the byte and, if known, the field.
Bad:    hex 08 0a 3a 05 0a
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.record import Record


@rule("SX001", visits=())
def check_does_not_decode(record: Record, context: RuleContext) -> Iterator[Finding]:
    """Visits nothing: `check/driver/checking.py` reports bytes for which there is no record."""
    yield from ()
