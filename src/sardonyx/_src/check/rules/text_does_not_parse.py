"""SX006 text-does-not-parse: the text is not ONNX textual syntax.

Clause: Syntax.md
Catalogue: -
Why:    nothing can be said of a document that cannot be read.
Bad:    text <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x }
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record


@rule("SX006", visits=())
def text_does_not_parse(record: Record, context: Context) -> Iterator[Finding]:
    """Found before there is a record to visit."""
    yield from ()
