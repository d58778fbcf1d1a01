"""SX007 json-does-not-map: the JSON is not protobuf's mapping of such a document.

Clause: ProtoJSON format; onnx.proto
Catalogue: -
Why:    nothing can be said of a document that cannot be read.
Bad:    json {"irVersion": "ten"}
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record


@rule("SX007", visits=())
def json_does_not_map(record: Record, context: Context) -> Iterator[Finding]:
    """Found before there is a record to visit."""
    yield from ()
