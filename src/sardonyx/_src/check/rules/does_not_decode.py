"""SX001 does-not-decode: the bytes are not a message of protobuf.

Clause: onnx.proto; protobuf encoding, "Message Structure"
Catalogue: WIR-01 WIR-05
Why:    nothing can be said of a document that cannot be read: a field ends after the data, a tag or a length makes no
        sense.  The location tells the byte and, as far as the data can be followed, the field.
Bad:    hex 08 0a 3a 05 0a
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record


@rule("SX001", visits=())
def does_not_decode(record: Record, context: Context) -> Iterator[Finding]:
    """Found before there is a record to visit."""
    yield from ()
