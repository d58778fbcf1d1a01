"""IsInf: which elements are infinite.

Spec: ai.onnx IsInf-10, -20.  20 adds the float types of 16 and 8 bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.shapes import same_shape
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("IsInf", elementwise=True)
op.convert((20, 10))(widening(NARROW_FLOATS))
op.infer(10, 20)(same_shape(DataType.BOOL))


@op.convert((10, 0))
def to_9(c: Change) -> Converted:
    """Where X lies beyond the greatest numbers."""
    X, dtype = c.input(0), c.dtype(0)
    if not dtype.is_float:
        c.refuse(f"X is of {dtype.text}, which is no float type")
    most = float(np.finfo(dtype.numpy).max)
    found = []
    if c.t.integer("detect_positive"):
        found.append(c.Greater(X, c.constant(most, dtype)))
    if c.t.integer("detect_negative"):
        found.append(c.Less(X, c.constant(-most, dtype)))
    if not found:
        return c.Greater(X, c.constant(np.inf, dtype))  # nothing is
    return found[0] if len(found) == 1 else c.Or(*found)


@op.eval(10, 20)
def evaluate(X: Array, *, detect_negative: int, detect_positive: int) -> Array:
    x = widen(X)
    return np.isinf(x) & np.where(x < 0, detect_negative != 0, detect_positive != 0)
