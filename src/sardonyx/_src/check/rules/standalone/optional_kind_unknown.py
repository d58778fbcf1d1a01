"""SX628 optional-kind-unknown: a stored optional has a kind that does not exist.

Clause: onnx-data.proto, OptionalProto.DataType
Catalogue: DAT-06
Why:    the field that holds the value is unknown.
Bad:    optional {elem_type: 99}
Good:   optional {elem_type: 1}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.proto.messages import OptionalProto


@rule("SX628", visits=OptionalProto)
def check_optional_kind_unknown(stored: OptionalProto, context: RuleContext) -> Iterator[Finding]:
    if stored.elem_type and stored.elem_type not in VALUE_FIELDS_BY_KIND:
        yield Finding("elem_type", f"elem_type is {stored.elem_type}", "set the kind of the value")
