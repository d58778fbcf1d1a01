"""SX361 sequence-without-element: a sequence type does not state the type of its elements.

Clause: onnx.proto, TypeProto.Sequence.elem_type
Catalogue: TYP-02 TYP-09 TYP-10
Why:    the type of the elements is unknown.
Bad:    g (seq() x) => (float[2] y) { y = ConcatFromSequence <axis = 0> (x) }
Good:   g (seq(float[2]) x) => (float[2] y) { y = ConcatFromSequence <axis = 0> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TypeProtoSequence


@rule("SX361", visits=TypeProtoSequence)
def check_sequence_without_element(type_: TypeProtoSequence, context: RuleContext) -> Iterator[Finding]:
    if type_.elem_type is None:
        yield Finding("elem_type", "elem_type is missing", "set the type of the elements")
