"""SX621 sequence-elements-elsewhere: elements of a stored sequence stand in the field of another kind.

Clause: onnx-data.proto, SequenceProto
Catalogue: DAT-02
Why:    readers look into the field of the kind that elem_type names.
Bad:    sequence {elem_type: 4, tensor_values: [float[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.proto.messages import SequenceProto


@rule("SX621", visits=SequenceProto, unless="SX620")
def sequence_elements_elsewhere(sequence: SequenceProto, context: Context) -> Iterator[Finding]:
    for number_, field in ELEMENTS.items():
        if sequence.has(field + "s") and getattr(sequence, field + "s") and number_ != sequence.elem_type:
            wanted = ELEMENTS.get(sequence.elem_type, "")
            yield Finding(
                "", f"{field}s has elements; elem_type calls for {wanted}s", "correct elem_type or the field"
            )
