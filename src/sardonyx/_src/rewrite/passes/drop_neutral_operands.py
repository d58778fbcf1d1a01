"""drop-neutral-operands: arithmetic with a constant that changes nothing goes.

Spec:    Mul-7 -13 -14, Div-7 -13 -14, Add-7 -13 -14, Sub-7 -13 -14, Pow-7 -12 -13 -15, And-7, Or-7
Before:  g (float[2] x) => (float[] y) <float one = {1}> { a = Mul(x, one)  y = Neg(a) }
After:   g (float[2] x) => (float[] y) { y = Neg(x) }
Keeps:   constants that widen the shape; floats to which +0.0 is added, since that makes 0.0 of -0.0; every bit.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit

NEUTRAL = {"Mul": 1, "Div": 1, "Add": 0, "Sub": 0, "Pow": 1, "And": 1, "Or": 0}
MOST = 1 << 16  # elements that are looked at


@rewrite(root=tuple(NEUTRAL), phase="simplify")
def drop_neutral_operands(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2:
        return False
    found = edit.meaning(node)
    assert found is not None, f"{node!r} is of a known operator"
    left, right = node.inputs
    pairs = [(left, right), (right, left)] if found.op.commutative else [(left, right)]
    for kept, other in pairs:
        if kept is None or not (is_neutral(node, other, edit) and keeps_shape(node, kept, other, edit)):
            continue
        if edit.forward(node.outputs[0], kept):
            edit.prune(node)
            return True
    return False


def is_neutral(node: Node, value: Value | None, edit: Edit) -> bool:
    tensor = edit.tensor(value)
    if tensor is None or tensor.size > MOST or tensor.size == 0:
        return False
    data = tensor.numpy()
    if data.dtype.kind == "O" or not bool(np.all(data.astype(np.float64) == NEUTRAL[node.op_type])):
        return False
    return data.dtype.kind in "iub" or is_exact(node.op_type, data)


def is_exact(op_type: str, data: Array) -> bool:
    """Whether the constant changes no float: the zero to add is the negative one, that to subtract the positive one."""
    signs = np.signbit(data.astype(np.float64))
    return bool(signs.all()) if op_type == "Add" else not signs.any()


def keeps_shape(node: Node, kept: Value, other: Value | None, edit: Edit) -> bool:
    """Whether the constant leaves shape and element type of the other operand as they are."""
    given, made, constant = edit.type(kept), edit.type(node.outputs[0]), edit.type(other)
    if given is None or made is None or constant is None or given.dtype is not made.dtype:
        return False
    if constant.shape == ():
        return True
    if given.shape is None or constant.shape is None:
        return False
    if set(constant.shape) == {1}:
        return len(constant.shape) <= len(given.shape)
    return given.shape == made.shape and None not in given.shape
