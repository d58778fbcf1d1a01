"""SX714 condition-not-single: an If or Loop is given a condition or trip count that is not one element.

Clause: Operators.md, If, Loop
Catalogue: SUB-16 SUB-17
Why:    the operator needs one answer; a tensor of one element, of any rank, is enough.
Bad:    g (float[2] x, bool[2] c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
Good:   g (float[2] x, bool[1] c) => (float[2] y) {
          y = If <then_branch = t () => (float[2] p) { p = Abs(x) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Use, typed
from sardonyx._src.ir.types import TensorType

SINGLE = {"If": 1, "Loop": 2}  # how many of the first inputs


@typed("SX714", about=Use, unless="SX703")
def condition_not_single(use: Use) -> Iterator[Finding]:
    if use.schema.domain:
        return
    for i, found in enumerate(use.given.inputs[: SINGLE.get(use.schema.name, 0)]):
        if not isinstance(found, TensorType) or found.shape is None:
            continue
        if any(isinstance(n, int) and n != 1 for n in found.shape):
            says = f"{use.name} is given {found}"
            yield Finding(f"input[{i}]", says, "reduce it to one element")
