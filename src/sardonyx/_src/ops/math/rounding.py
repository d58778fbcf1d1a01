"""Ceil, Floor, Round: the next whole number above or below, and the nearest one; halves are rounded to the even one.

Spec: ai.onnx Ceil-1, -6, -13; Floor-1, -6, -13; Round-11, -22.  13 and 22 add bfloat16.  Zeros keep their sign.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import ceil_div
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.math.ratios import Ratio, denominator, numerator
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

ceil = Operator(
    "Ceil", elementwise=True, about="the least whole number not below each element.", exact_in_half=True
)
floor = Operator(
    "Floor", elementwise=True, about="the greatest whole number not above each element.", exact_in_half=True
)
round_ = Operator(
    "Round",
    elementwise=True,
    about="the nearest whole number, of two equally near the even one.",
    exact_in_half=True,
)

define_unary(ceil, (1, 6, 13), np.ceil)
define_unary(floor, (1, 6, 13), np.floor)
define_unary(round_, (11, 22), np.rint)


@round_.convert((11, 0))
def to_10(adapter: Adapter) -> AdaptedNode:
    """Round half to even, with the sign of x: the floor of |x|, or one more.

    It is one more if the fraction is above a half, or if it is a half and the floor is odd.
    """
    x, dtype = adapter.input(0), adapter.dtype(0)

    def number(value: float) -> Value:
        return adapter.constant(value, dtype)

    size = adapter.Abs(x)
    below = adapter.Floor(size)
    part = adapter.Sub(size, below)
    is_odd = adapter.Greater(
        adapter.Sub(below, adapter.Mul(adapter.Floor(adapter.Mul(below, number(0.5))), number(2))),
        number(0.5),
    )
    is_far = adapter.Or(
        adapter.Greater(part, number(0.5)), adapter.And(is_odd, adapter.Not(adapter.Less(part, number(0.5))))
    )
    near = adapter.Where(is_far, adapter.Add(below, number(1)), below)
    signed = adapter.Where(adapter.Less(x, number(0)), adapter.Neg(near), near)
    return adapter.Where(adapter.Greater(part, number(0)), signed, x)


for op, rule in (
    (ceil, lambda x: ceil_div(numerator(x), denominator(x))),
    (floor, lambda x: numerator(x) // denominator(x)),
    (round_, lambda x: None if isinstance(x, Ratio) else x),
):
    op.value(*op.kernels)(arithmetic(rule, takes_ratios=True))
