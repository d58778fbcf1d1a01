"""SX622 sequence-types-differ: the elements of a stored sequence have different types.

Clause: onnx-data.proto, SequenceProto; IR.md, "Standard data types"
Catalogue: DAT-02
Why:    all elements of a sequence have the same type.
Bad:    sequence {elem_type: 1, tensor_values: [float[1] {1}, int64[1] {1}]}
Good:   sequence {elem_type: 1, tensor_values: [float[1] {1}, float[2] {1, 2}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND, join_words, type_of
from sardonyx._src.proto.messages import SequenceProto


@rule("SX622", visits=SequenceProto, suppressed_by="SX300")
def check_sequence_types_differ(sequence: SequenceProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per sequence; the unknown part of an empty container's type matches every type."""
    field = f"{VALUE_FIELDS_BY_KIND.get(sequence.elem_type, 'tensor_value')}s"
    longest: tuple[str, ...] = ()
    for i, element in enumerate(getattr(sequence, field)):
        words = type_of(element)
        if any(a != b for a, b in zip(words, longest, strict=False)):
            message = f"this element is {join_words(words)}, others are {join_words(longest)}"
            yield Finding(f"{field}[{i}]", message, "store elements of the same type")
            return
        longest = max(longest, words, key=len)
