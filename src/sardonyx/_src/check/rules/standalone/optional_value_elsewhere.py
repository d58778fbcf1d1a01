"""SX627 optional-value-elsewhere: the value of a stored optional is in the field of another kind.

Clause: onnx-data.proto, OptionalProto.elem_type
Catalogue: DAT-06
Why:    readers use the field that elem_type selects.
Bad:    optional {elem_type: 3, tensor_value: float[1] {1}}
Good:   optional {elem_type: 1, tensor_value: float[1] {1}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.proto.messages import OptionalProto


@rule("SX627", visits=OptionalProto)
def check_optional_value_elsewhere(stored: OptionalProto, context: RuleContext) -> Iterator[Finding]:
    if stored.elem_type and stored.elem_type not in VALUE_FIELDS_BY_KIND:
        return  # reported by SX628
    for kind, field in VALUE_FIELDS_BY_KIND.items():
        if stored.has(field) and kind != stored.elem_type:
            expected = VALUE_FIELDS_BY_KIND.get(stored.elem_type, "no value")
            yield Finding(
                field,
                f"{field} is set, but elem_type {stored.elem_type} requires {expected}",
                "correct elem_type",
            )
