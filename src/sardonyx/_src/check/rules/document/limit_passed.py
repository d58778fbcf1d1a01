"""SX008 limit-passed: the document exceeds a limit that protects the reader.

Clause: none of ONNX; sardonyx.Limits
Catalogue: -
Why:    a small file can be crafted to exhaust the memory or the stack of its reader.  An example `deep N` has
        sequences nested N deep.
Bad:    deep 300
Good:   deep 3
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine.api import Finding, rule
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.record import Record


@rule("SX008", visits=())
def check_limit_passed(record: Record, context: RuleContext) -> Iterator[Finding]:
    """Reported while decoding, before there is a record to visit."""
    yield from ()
