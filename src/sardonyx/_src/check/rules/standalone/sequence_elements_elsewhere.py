"""SX621 sequence-elements-elsewhere: elements of a stored sequence are in the field of another kind.

Clause: onnx-data.proto, SequenceProto
Catalogue: DAT-02
Why:    readers use the field that elem_type selects.
Bad:    sequence {elem_type: 4, tensor_values: [float[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.proto.messages import SequenceProto


@rule("SX621", visits=SequenceProto, suppressed_by="SX620")
def check_sequence_elements_elsewhere(sequence: SequenceProto, context: RuleContext) -> Iterator[Finding]:
    for kind, field in VALUE_FIELDS_BY_KIND.items():
        if sequence.has(field + "s") and getattr(sequence, field + "s") and kind != sequence.elem_type:
            expected = VALUE_FIELDS_BY_KIND.get(sequence.elem_type, "")
            yield Finding(
                "",
                f"{field}s has elements, but elem_type requires {expected}s",
                "correct elem_type or the field",
            )
