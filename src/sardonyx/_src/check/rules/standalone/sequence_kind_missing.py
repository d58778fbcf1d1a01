"""SX620 sequence-kind-missing: a stored sequence does not state the kind of its elements.

Clause: onnx-data.proto, SequenceProto.elem_type
Catalogue: DAT-01
Why:    the kind selects the field that holds the elements.
Bad:    sequence {tensor_values: [float[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.proto.messages import SequenceProto


@rule("SX620", visits=SequenceProto)
def check_sequence_kind_missing(sequence: SequenceProto, context: RuleContext) -> Iterator[Finding]:
    if sequence.elem_type not in VALUE_FIELDS_BY_KIND:
        message = (
            f"elem_type is {sequence.elem_type}"
            if sequence.elem_type
            else "elem_type is missing or UNDEFINED"
        )
        yield Finding("elem_type", message, "set the kind of the elements")
