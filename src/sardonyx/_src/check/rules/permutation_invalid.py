"""SX219 permutation-invalid: a permutation does not name each axis once.

Clause: Operators.md, Transpose
Catalogue: OPR-02
Why:    every axis of the input becomes one axis of the output.
Bad:    g (float[2, 3] x) => (float[M, N] y) { y = Transpose <perm = [0, 0]> (x) }
Good:   g (float[2, 3] x) => (float[M, N] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto

SHOWN = 16


@rule("SX219", visits=NodeProto, needs="attribute", unless="SX211 SX212 SX231 SX232", by_form=True)
def permutation_invalid(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type != "Transpose" or context.schema is None:
        return
    for i, one in enumerate(node.attribute):
        axes = list(one.ints)
        if one.name == "perm" and not one.ref_attr_name and sorted(axes) != list(range(len(axes))):
            shown = f"{axes[:SHOWN]}{' and more' if len(axes) > SHOWN else ''}"
            says = f"perm is {shown}; each axis from 0 to {len(axes) - 1} is wanted once"
            yield Finding(f"attribute[{i}].ints", says, "name each axis once, counted from the front")
