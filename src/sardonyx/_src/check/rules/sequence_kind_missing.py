"""SX620 sequence-kind-missing: a stored sequence does not say of which kind its elements are.

Clause: onnx-data.proto, SequenceProto.elem_type
Catalogue: DAT-01
Why:    the kind tells in which field the elements stand.
Bad:    sequence {tensor_values: [float[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.proto.messages import SequenceProto


@rule("SX620", visits=SequenceProto)
def sequence_kind_missing(sequence: SequenceProto, context: Context) -> Iterator[Finding]:
    if sequence.elem_type not in ELEMENTS:
        says = (
            f"elem_type is {sequence.elem_type}"
            if sequence.elem_type
            else "elem_type is missing or UNDEFINED"
        )
        yield Finding("elem_type", says, "set the kind of the elements")
