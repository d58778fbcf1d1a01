"""SX622 sequence-types-differ: the tensors of a stored sequence have different element types.

Clause: onnx-data.proto, SequenceProto; IR.md, "Standard data types"
Catalogue: DAT-02
Why:    the elements of a sequence have one type.
Bad:    sequence {elem_type: 1, tensor_values: [float[1] {1}, int64[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}, float[2] {1, 2}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.check.names import element_type
from sardonyx.proto.messages import SequenceProto


@rule("SX622", visits=SequenceProto, unless="SX300")
def sequence_types_differ(sequence: SequenceProto, context: Context) -> Iterator[Finding]:
    kinds = [tensor.data_type for tensor in sequence.tensor_values]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            says = f"this tensor is {element_type(kind)}, the first {element_type(kinds[0])}"
            yield Finding(f"tensor_values[{i}]", says, "store tensors of one type")
            return
