"""merge-constant-operands: merge the constants of two successive Adds or Muls.

Spec:    Add-7 -13 -14, Mul-7 -13 -14
Before:  g (float[2] x) => (float[] y) <float c = {1}, float d = {2}> { a = Add(x, c)  y = Add(a, d) }
After:   g (float[2] x) => (float[] y) <float e = {3}> { y = Add(x, e) }
Keeps:   intermediate values with other uses; constants that would become larger, or infinite; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

COMBINE = {"Add": np.add, "Mul": np.multiply}


@rewrite(root=("Add", "Mul"), phase="fuse")
def merge_constant_operands(node: Node, edit: Edit) -> bool:
    outer = operands(node, edit)
    inner = None if outer is None else edit.producer(outer[0], node.op_type)
    if outer is None or inner is None or not edit.has_one_use(outer[0]):
        return False
    inner_operands = operands(inner, edit)
    if inner_operands is None:
        return False
    source, first = inner_operands[0], edit.constant(inner_operands[1])
    second = edit.constant(outer[1])
    combined = None if first is None or second is None else combine(node.op_type, first, second)
    if combined is None:
        return False
    constant = edit.make_constant(combined, f"{node.name or node.outputs[0].name}/constant", before=node)
    return edit.replace(node, node.op_type, [source, constant])


def operands(node: Node, edit: Edit) -> tuple[Value, Value] | None:
    """The variable and the constant operand of a node; None unless it has one of each."""
    if len(node.inputs) != 2 or not edit.is_a(node, node.op_type):
        return None
    for value, other in (node.inputs, node.inputs[::-1]):
        if value is None or other is None or edit.tensor(other) is None:
            continue
        if edit.tensor(value) is None:
            return value, other
    return None


def combine(op_type: str, first: Array, second: Array) -> Array | None:
    """Combine two constants; None if the result is larger than both, of another type or not finite."""
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(COMBINE[op_type](first, second))
    except (ValueError, TypeError):
        return None  # not broadcastable, or a type without NumPy arithmetic
    if result.dtype != first.dtype or result.size > max(first.size, second.size):
        return None
    return None if result.dtype.kind == "f" and not np.isfinite(result).all() else result
