"""SX008 limit-passed: the document goes past a limit that guards the reader.

Clause: none of ONNX; sardonyx.Limits
Catalogue: -
Why:    a small file can be made to fill the memory or the stack of whoever reads it.  An example `deep N` has
        sequences nested N deep.
Bad:    deep 300
Good:   deep 3
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.record import Record


@rule("SX008", visits=())
def limit_passed(record: Record, context: Context) -> Iterator[Finding]:
    """Found before there is a record to visit."""
    yield from ()
