"""drop-neutral-operands: remove arithmetic with a neutral constant, such as x * 1.

Spec:    Mul-7 -13 -14, Div-7 -13 -14, Add-7 -13 -14, Sub-7 -13 -14, Pow-7 -12 -13 -15, And-7, Or-7
Before:  g (float[2] x) => (float[] y) <float one = {1}> { a = Mul(x, one)  y = Neg(a) }
After:   g (float[2] x) => (float[] y) { y = Neg(x) }
Keeps:   constants that broadcast the result; additions of +0.0 to floats, which turn -0.0 into 0.0; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit

NEUTRAL_OPERANDS = {"Mul": 1, "Div": 1, "Add": 0, "Sub": 0, "Pow": 1, "And": 1, "Or": 0}


@rewrite(root=tuple(NEUTRAL_OPERANDS), phase="simplify")
def drop_neutral_operands(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or len(node.inputs) != 2:
        return False
    operator = edit.operator_of(node)
    assert operator is not None, f"{node!r} is of a known operator"
    left, right = node.inputs
    pairs = [(left, right), (right, left)] if operator.op.commutative else [(left, right)]
    for operand, other in pairs:
        if operand is None or not (is_neutral(node, other, edit) and keeps_type(node, operand, other, edit)):
            continue
        if edit.replace_uses(node.outputs[0], operand):
            edit.prune(node)
            return True
    return False


def is_neutral(node: Node, value: Value | None, edit: Edit) -> bool:
    number = edit.uniform_number(value)
    if number is None or number != NEUTRAL_OPERANDS[node.op_type]:
        return False
    constant = edit.type(value)
    is_integer = constant is not None and constant.dtype.numpy.kind in "iub"
    return is_integer or is_exact(node.op_type, number)


def is_exact(op_type: str, number: float) -> bool:
    """Whether the constant changes no float: an added zero must be -0.0, a subtracted one +0.0."""
    return bool(np.signbit(number)) is (op_type == "Add")


def keeps_type(node: Node, operand: Value, other: Value | None, edit: Edit) -> bool:
    """Whether the result has the shape and element type of the other operand."""
    operand_type, result_type, constant = edit.type(operand), edit.type(node.outputs[0]), edit.type(other)
    if (
        operand_type is None
        or result_type is None
        or constant is None
        or operand_type.dtype is not result_type.dtype
    ):
        return False
    if constant.shape == ():
        return True
    if operand_type.shape is None or constant.shape is None:
        return False
    if set(constant.shape) == {1}:
        return len(constant.shape) <= len(operand_type.shape)
    return operand_type.shape == result_type.shape and None not in operand_type.shape
