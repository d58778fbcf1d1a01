"""resolve-reshapes: replace a computed shape of Reshape or Expand by a constant with -1 or 0.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Expand-8 -13
Before:  g (float[N,6] x) => (float[] y) <int64[2] k = {3, 2}, int64[1] o = {0}> {
           s = Shape(x)  n = Gather(s, o)  t = Concat<axis = 0>(n, k)  y = Reshape(x, t)
         }
After:   g (float[N,6] x) => (float[] y) <int64[3] t = {0, 3, 2}> { y = Reshape(x, t) }
Keeps:   shapes with two symbolic dims that are not copied from the same axis, and those whose number of elements is not
         proved to be that of the input, since runs with other sizes must fail; results exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim, Expr, known_equal
from sardonyx._src.ops.support.shapes import element_count
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root=("Reshape", "Expand"), phase="simplify")
def resolve_reshapes(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2 or edit.tensor(node.inputs[1]) is not None:
        return False
    shape = sizes(node, edit)
    if shape is None:
        return False
    resolve = resolve_reshape if node.op_type == "Reshape" else resolve_expand
    resolved = resolve(node, shape, edit)
    if resolved is None:
        return False
    stem = node.inputs[1].name if node.inputs[1] is not None else ""
    constant = edit.make_constant(np.array(resolved, np.int64), f"{stem}_resolved", before=node)
    edit.update(node, inputs=[node.inputs[0], constant])
    return True


def sizes(node: Node, edit: Edit) -> Sequence[Dim] | None:
    """The known elements of the shape: numbers, expressions or None."""
    known = edit.elements(node.inputs[1])
    if known is None or known.ndim != 1:
        return None
    return [e if isinstance(e, Expr) or e is None else int(e) for e in known.tolist()]


def resolve_reshape(node: Node, shape: Sequence[Dim], edit: Edit) -> list[int] | None:
    if edit.attributes(node).get("allowzero"):
        return None
    source = edit.shape(node.inputs[0])
    result: list[int] = []
    for i, size in enumerate(shape):
        if isinstance(size, int):
            result.append(size)
        elif source is not None and i < len(source) and size is not None and source[i] == size:
            result.append(0)  # 0 copies the dim of the input
        else:
            result.append(-1)
    return result if is_determined(result, shape, source) else None


def is_determined(result: Sequence[int], shape: Sequence[Dim], source: Sequence[Dim] | None) -> bool:
    """Whether the -1 in a shape, if there is one, can only stand for the size that the computed shape has there."""
    if result.count(-1) > 1:
        return False
    if -1 not in result or shape[result.index(-1)] == -1:
        return True
    # If another dim is zero, -1 has no unique value, although the computed shape states one.
    others_are_positive = all(
        isinstance(size, int) and size > 0 for i, size in enumerate(shape) if result[i] != -1
    )
    return (
        others_are_positive
        and source is not None
        and known_equal(element_count(shape), element_count(source)) is True
    )


def resolve_expand(node: Node, shape: Sequence[Dim], edit: Edit) -> list[int] | None:
    """The constant shape of an Expand: a dim that equals that of the input becomes 1, which keeps the dim of the input."""
    source = edit.shape(node.inputs[0])
    if source is None:
        return None
    result: list[int] = []
    for i, size in enumerate(shape):
        axis = len(source) - len(shape) + i
        source_size = source[axis] if axis >= 0 else None
        if isinstance(size, int):
            result.append(size)
        elif size is not None and source_size == size:
            result.append(1)
        else:
            return None
    return result
