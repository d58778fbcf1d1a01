"""SX622 sequence-types-differ: the elements of a stored sequence have different types.

Clause: onnx-data.proto, SequenceProto; IR.md, "Standard data types"
Catalogue: DAT-02
Why:    the elements of a sequence have one type.
Bad:    sequence {elem_type: 1, tensor_values: [float[1] {1}, int64[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}, float[2] {1, 2}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS, type_of, written
from sardonyx._src.proto.messages import SequenceProto


@rule("SX622", visits=SequenceProto, unless="SX300")
def sequence_types_differ(sequence: SequenceProto, context: Context) -> Iterator[Finding]:
    """Once for each sequence; what an empty element leaves open fits everything."""
    field = f"{ELEMENTS.get(sequence.elem_type, 'tensor_value')}s"
    longest: tuple[str, ...] = ()
    for i, element in enumerate(getattr(sequence, field)):
        found = type_of(element)
        if any(a != b for a, b in zip(found, longest, strict=False)):
            says = f"this element is {written(found)}, others are {written(longest)}"
            yield Finding(f"{field}[{i}]", says, "store elements of one type")
            return
        longest = max(longest, found, key=len)
