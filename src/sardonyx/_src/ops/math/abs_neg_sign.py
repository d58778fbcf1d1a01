"""Abs, Neg, Sign: the magnitude, the negative, and the sign (-1, 0 or 1) of each element.

Spec: ai.onnx Abs-1, -6, -13; Neg-1, -6, -13; Sign-9, -13.  Versions from 6 on accept integers, 13 bfloat16.  Abs and Neg
leave the least integer of a type as it is, since the type cannot hold its negative.  The sign of NaN, which no version
mentions, is NaN.
"""

from __future__ import annotations

import operator

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, bounds, dim_max
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

abs_ = Operator(
    "Abs",
    elementwise=True,
    about="each element without its sign; the least integer stays itself.",
    exact_in_half=True,
)
neg = Operator(
    "Neg",
    elementwise=True,
    about="each element with the other sign; the least integer stays itself.",
    exact_in_half=True,
)

define_unary(abs_, (1, 6, 13), np.abs)
define_unary(neg, (1, 6, 13), np.negative)
sign = Operator(
    "Sign",
    elementwise=True,
    about="-1, 0 or 1, as the element is below, at or above zero.",
    exact_in_half=True,
)
define_unary(sign, (9, 13), np.sign)


@sign.convert((9, 0))
def to_8(adapter: Adapter) -> AdaptedNode:
    """(x > 0) - (x < 0); integers are compared as doubles, which preserve the sign.

    For floats, a term is added that is 0 for numbers and NaN for NaN, as the sign of NaN is NaN.
    """
    own = adapter.dtype(0)
    wide = DataType.DOUBLE if own.is_integer else own
    x = adapter.input(0) if wide is own else cast(adapter, adapter.input(0), wide)
    zero, step = adapter.constant(0, wide), DataType.INT32 if own.is_integer else own
    sides = adapter.Sub(
        cast(adapter, adapter.Greater(x, zero), step), cast(adapter, adapter.Less(x, zero), step)
    )
    if own.is_integer:
        return cast(adapter, sides, own)
    zero_or_nan = adapter.Mul(adapter.Clip(x, min=-1.0, max=1.0), zero)
    return adapter.Add(sides, zero_or_nan)


def magnitude(dim: Known) -> Known:
    """|dim|; the dim or its negative itself where the sign is known."""
    low, high = bounds(dim)
    if low is not None and low >= 0:
        return dim
    return -dim if high is not None and high <= 0 else dim_max(dim, -dim)


abs_.value(1, 6, 13)(arithmetic(magnitude))
neg.value(1, 6, 13)(arithmetic(operator.neg, takes_ratios=True))
