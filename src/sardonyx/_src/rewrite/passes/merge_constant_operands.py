"""merge-constant-operands: of two constants that are added, or multiplied with, one after the other, one is made.

Spec:    Add-7 -13 -14, Mul-7 -13 -14
Before:  g (float[2] x) => (float[] y) <float c = {1}, float d = {2}> { a = Add(x, c)  y = Add(a, d) }
After:   g (float[2] x) => (float[] y) <float e = {3}> { y = Add(x, e) }
Keeps:   values still read elsewhere; constants that would become larger, or infinite; results up to rounding.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

TOGETHER = {"Add": np.add, "Mul": np.multiply}


@rewrite(root=("Add", "Mul"), phase="fuse")
def merge_constant_operands(node: Node, edit: Edit) -> bool:
    outer = operands(node, edit)
    if outer is None:
        return False
    middle, second = outer
    inner = edit.producer(middle, node.op_type)
    found = None if inner is None or not edit.is_read_once(middle) else operands(inner, edit)
    if found is None:
        return False
    source, first = found
    both = together(node.op_type, first, second)
    if both is None:
        return False
    constant = edit.constant_of(both, f"{node.name or node.outputs[0].name}/constant", before=node)
    return edit.replace(node, node.op_type, [source, constant])


def operands(node: Node, edit: Edit) -> tuple[Value, Array] | None:
    """The value and the constant of a node that has one of each."""
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2:
        return None
    for value, other in (node.inputs, node.inputs[::-1]):
        data = edit.constant(other)
        if value is not None and data is not None and edit.tensor(value) is None:
            return value, data
    return None


def together(op_type: str, first: Array, second: Array) -> Array | None:
    """Both constants in one; None where that is larger than the larger one, of another type or not finite."""
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(TOGETHER[op_type](first, second))
    except (ValueError, TypeError):
        return None  # they do not broadcast, or NumPy does not compute with their type
    if result.dtype != first.dtype or result.size > max(first.size, second.size):
        return None
    return None if result.dtype.kind == "f" and not np.isfinite(result).all() else result
