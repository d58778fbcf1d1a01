"""IsInf: which elements are infinite.

Spec: ai.onnx IsInf-10, -20.  20 adds the float types of 16 and 8 bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import same_shape
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("IsInf", elementwise=True)
op.convert((20, 10))(promote_input(NARROW_FLOATS))
op.infer(10, 20)(same_shape(DataType.BOOL))


@op.convert((10, 0))
def to_9(adapter: Adapter) -> AdaptedNode:
    """Compare X with the largest finite number and its negative: only infinities are beyond them."""
    X, dtype = adapter.input(0), adapter.dtype(0)
    if not dtype.is_float:
        adapter.refuse(f"X must have a float type; got {dtype.text}")
    largest = float(np.finfo(dtype.numpy).max)
    conditions = []
    if adapter.inference.integer("detect_positive"):
        conditions.append(adapter.Greater(X, adapter.constant(largest, dtype)))
    if adapter.inference.integer("detect_negative"):
        conditions.append(adapter.Less(X, adapter.constant(-largest, dtype)))
    if not conditions:
        return adapter.Greater(X, adapter.constant(np.inf, dtype))  # false for every element
    return conditions[0] if len(conditions) == 1 else adapter.Or(*conditions)


@op.eval(10, 20)
def evaluate(X: Array, *, detect_negative: int, detect_positive: int) -> Array:
    x = promote_to_float32(X)
    return np.isinf(x) & np.where(x < 0, detect_negative != 0, detect_positive != 0)
