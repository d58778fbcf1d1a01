"""SX714 condition-not-single: the condition or trip count of an If or Loop is not a single element.

Clause: Operators.md, If, Loop
Catalogue: SUB-16 SUB-17
Why:    the operator needs one value; a tensor of one element and any rank is allowed.
Bad:    g (float[2] x, bool[2] c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
Good:   g (float[2] x, bool[1] c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedNode, type_rule
from sardonyx._src.ir import TensorType

SINGLE_ELEMENT_INPUTS = {"If": 1, "Loop": 2}  # number of leading inputs


@type_rule("SX714", about=TypedNode, suppressed_by="SX703")
def check_condition_not_single(typed_node: TypedNode) -> Iterator[Finding]:
    if typed_node.schema.domain:
        return
    for i, type_ in enumerate(
        typed_node.inference.inputs[: SINGLE_ELEMENT_INPUTS.get(typed_node.schema.name, 0)]
    ):
        if not isinstance(type_, TensorType) or type_.shape is None:
            continue
        if any(isinstance(n, int) and n != 1 for n in type_.shape):
            message = f"input {i} of {typed_node.name} must have one element; got {type_}"
            yield Finding(f"input[{i}]", message, "reduce it to one element")
