"""SX006 text-does-not-parse: the text is not ONNX textual syntax.

Clause: Syntax.md
Catalogue: -
Why:    a document that does not parse cannot be checked.
Bad:    text <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x }
Good:   <> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.record import Record


@rule("SX006", visits=())
def check_text_does_not_parse(record: Record, context: RuleContext) -> Iterator[Finding]:
    """Reported while decoding, before there is a record to visit."""
    yield from ()
