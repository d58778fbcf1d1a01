"""Ceil, Floor, Round: the next whole number above, below, and the nearest one, of two equally near the even one.

Spec: ai.onnx Ceil-1, -6, -13; Floor-1, -6, -13; Round-11, -22.  13 and 22 add bfloat16.  Zeros keep their sign.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.math.elementwise import function_of_one
from sardonyx._src.ops.math.symbolic import arithmetic

ceil = Operator("Ceil", elementwise=True, about="the least whole number not below each element.")
floor = Operator("Floor", elementwise=True, about="the greatest whole number not above each element.")
round_ = Operator(
    "Round", elementwise=True, about="the nearest whole number, of two equally near the even one."
)

function_of_one(ceil, (1, 6, 13), np.ceil)
function_of_one(floor, (1, 6, 13), np.floor)
function_of_one(round_, (11, 22), np.rint)


@round_.convert((11, 0))
def to_10(c: Change) -> Converted:
    """The whole number below the size, or one more behind a half, or at one if that is even; with the sign of x."""
    x, dtype = c.input(0), c.dtype(0)

    def number(value: float) -> Value:
        return c.constant(value, dtype)

    size = c.Abs(x)
    below = c.Floor(size)
    part = c.Sub(size, below)
    is_odd = c.Greater(c.Sub(below, c.Mul(c.Floor(c.Mul(below, number(0.5))), number(2))), number(0.5))
    is_far = c.Or(c.Greater(part, number(0.5)), c.And(is_odd, c.Not(c.Less(part, number(0.5)))))
    near = c.Where(is_far, c.Add(below, number(1)), below)
    signed = c.Where(c.Less(x, number(0)), c.Neg(near), near)
    return c.Where(c.Greater(part, number(0)), signed, x)


for op in (ceil, floor, round_):
    op.value(*op.kernels)(arithmetic(lambda dim: dim))  # sizes in floats are whole numbers
