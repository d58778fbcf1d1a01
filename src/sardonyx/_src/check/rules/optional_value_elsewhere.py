"""SX627 optional-value-elsewhere: the value of a stored optional stands in the field of another kind.

Clause: onnx-data.proto, OptionalProto.elem_type
Catalogue: DAT-06
Why:    readers look into the field of the kind that elem_type names.
Bad:    optional {elem_type: 3, tensor_value: float[1] {1}}
Good:   optional {elem_type: 1, tensor_value: float[1] {1}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.proto.messages import OptionalProto


@rule("SX627", visits=OptionalProto)
def optional_value_elsewhere(stored: OptionalProto, context: Context) -> Iterator[Finding]:
    if stored.elem_type and stored.elem_type not in ELEMENTS:
        return  # SX628 says so
    for number_, field in ELEMENTS.items():
        if stored.has(field) and number_ != stored.elem_type:
            wanted = ELEMENTS.get(stored.elem_type, "no value")
            yield Finding(
                field, f"{field} is set; elem_type {stored.elem_type} calls for {wanted}", "correct elem_type"
            )
