"""SX628 optional-kind-unknown: a stored optional has a kind that does not exist.

Clause: onnx-data.proto, OptionalProto.DataType
Catalogue: DAT-06
Why:    nobody knows what the value would be.
Bad:    optional {elem_type: 99}
Good:   optional {elem_type: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.proto.messages import OptionalProto


@rule("SX628", visits=OptionalProto)
def optional_kind_unknown(stored: OptionalProto, context: Context) -> Iterator[Finding]:
    if stored.elem_type and stored.elem_type not in ELEMENTS:
        yield Finding("elem_type", f"elem_type is {stored.elem_type}", "set the kind of the value")
