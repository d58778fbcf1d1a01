"""Abs, Neg, Sign: size, opposite, and -1, 0 or 1; the least integer is its own size and opposite.

Spec: ai.onnx Abs-1, -6, -13; Neg-1, -6, -13; Sign-9, -13.  Versions from 6 on take integers, 13 bfloat16.  The sign
of NaN, of which no version speaks, is NaN.
"""

from __future__ import annotations

import operator

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, bounds, dim_max
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.math.elementwise import function_of_one
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.widening import cast

abs_ = Operator(
    "Abs", elementwise=True, about="each element without its sign; the least integer stays itself."
)
neg = Operator(
    "Neg", elementwise=True, about="each element with the other sign; the least integer stays itself."
)

function_of_one(abs_, (1, 6, 13), np.abs)
function_of_one(neg, (1, 6, 13), np.negative)
sign = Operator("Sign", elementwise=True, about="-1, 0 or 1, as the element is below, at or above zero.")
function_of_one(sign, (9, 13), np.sign)


@sign.convert((9, 0))
def to_8(c: Change) -> Converted:
    """One where x is above zero, less one where it is below; integers are compared as doubles, which keep the sign."""
    own = c.dtype(0)
    wide = DataType.DOUBLE if own.is_integer else own
    x = c.input(0) if wide is own else cast(c, c.input(0), wide)
    zero, step = c.constant(0, wide), DataType.INT32 if own.is_integer else own
    sides = c.Sub(cast(c, c.Greater(x, zero), step), cast(c, c.Less(x, zero), step))
    if own.is_integer:
        return cast(c, sides, own)
    nothing = c.Mul(c.Clip(x, min=-1.0, max=1.0), zero)  # but NaN for NaN
    return c.Add(sides, nothing)


def size(dim: Known) -> Known:
    low, high = bounds(dim)
    if low is not None and low >= 0:
        return dim
    return -dim if high is not None and high <= 0 else dim_max(dim, -dim)


abs_.value(1, 6, 13)(arithmetic(size))
neg.value(1, 6, 13)(arithmetic(operator.neg))
