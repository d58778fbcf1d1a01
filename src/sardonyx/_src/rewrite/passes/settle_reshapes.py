"""settle-reshapes: a shape that is computed from sizes becomes a constant with -1 or 0 for what is not known.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Expand-8 -13
Before:  g (float[N,6] x) => (float[] y) <int64[2] k = {3, 2}, int64[1] o = {0}> {
           s = Shape(x)  n = Gather(s, o)  t = Concat<axis = 0>(n, k)  y = Reshape(x, t)
         }
After:   g (float[N,6] x) => (float[] y) <int64[3] t = {0, 3, 2}> { y = Reshape(x, t) }
Keeps:   shapes with two sizes that neither stand at the same place before nor are numbers; every bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit


@rewrite(root=("Reshape", "Expand"), phase="simplify")
def settle_reshapes(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2 or edit.tensor(node.inputs[1]) is not None:
        return False
    wanted = sizes(node, edit)
    if wanted is None:
        return False
    settle = settled_reshape if node.op_type == "Reshape" else settled_expand
    found = settle(node, wanted, edit)
    if found is None:
        return False
    stem = node.inputs[1].name if node.inputs[1] is not None else ""
    constant = edit.constant_of(np.array(found, np.int64), f"{stem}_settled", before=node)
    edit.update(node, inputs=[node.inputs[0], constant])
    return True


def sizes(node: Node, edit: Edit) -> Sequence[Dim] | None:
    """The elements of the shape: numbers, expressions, None; from what is known of them, or else of the result."""
    known = edit.elements(node.inputs[1])
    if known is None or known.ndim != 1:
        return None
    return [e if isinstance(e, Expr) or e is None else int(e) for e in known.tolist()]


def settled_reshape(node: Node, wanted: Sequence[Dim], edit: Edit) -> list[int] | None:
    if edit.attributes(node).get("allowzero"):
        return None
    given = edit.shape(node.inputs[0])
    result: list[int] = []
    for i, size in enumerate(wanted):
        if isinstance(size, int):
            result.append(size)
        elif given is not None and i < len(given) and size is not None and given[i] == size:
            result.append(0)  # copied
        else:
            result.append(-1)
    return result if is_clear(result, wanted, given) else None


def is_clear(result: Sequence[int], wanted: Sequence[Dim], given: Sequence[Dim] | None) -> bool:
    """Whether a shape says one thing: at most one -1, beside which no size can be zero."""
    if result.count(-1) > 1:
        return False
    if -1 not in result or wanted[result.index(-1)] == -1:
        return True
    # With a zero among the others nothing tells what -1 stands for, where the model itself says it.
    return all(isinstance(size, int) and size > 0 for i, size in enumerate(wanted) if result[i] != -1)


def settled_expand(node: Node, wanted: Sequence[Dim], edit: Edit) -> list[int] | None:
    """A size that the input has already is left to the input by 1."""
    given = edit.shape(node.inputs[0])
    if given is None:
        return None
    result: list[int] = []
    for i, size in enumerate(wanted):
        at = len(given) - len(wanted) + i
        own = given[at] if at >= 0 else None
        if isinstance(size, int):
            result.append(size)
        elif size is not None and own == size:
            result.append(1)
        else:
            return None
    return result
