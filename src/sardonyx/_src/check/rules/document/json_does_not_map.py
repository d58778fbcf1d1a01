"""SX007 json-does-not-map: the JSON is not protobuf's mapping of such a document.

Clause: ProtoJSON format; onnx.proto
Catalogue: -
Why:    a document that does not parse cannot be checked.
Bad:    json {"irVersion": "ten"}
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.record import Record


@rule("SX007", visits=())
def check_json_does_not_map(record: Record, context: RuleContext) -> Iterator[Finding]:
    """Reported while decoding, before there is a record to visit."""
    yield from ()
