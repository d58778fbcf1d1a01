"""Erf: the error function.

Spec: ai.onnx Erf-9, -13.  9 also accepts integers.  The result for them, computed in float64, is rounded toward zero: its
magnitude is 1 where 1 is the float64 nearest to |erf(x)|, else 0.  13 accepts only floats, and adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math import error_function
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.promotion import compute_in
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Erf", tolerance="rounding", elementwise=True)


def erf(x: Array) -> Array:
    """The error function as float64, which `define_unary` rounds to the type of x."""
    return error_function.erf(x.astype(np.float64))


define_unary(op, (9, 13), erf)


@op.convert((9, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    dtype = adapter.inference.dtype(0)
    return compute_in(adapter, DataType.DOUBLE) if dtype is not None and dtype.is_integer else adapter.same()
