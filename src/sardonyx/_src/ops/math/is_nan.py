"""IsNaN: which elements are NaN.

Spec: ai.onnx IsNaN-9, -13, -20.  13 adds bfloat16, 20 the float types of 8 bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.comparison_steps import is_nan
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import same_shape

op = Operator("IsNaN", elementwise=True)
op.convert((20, 13))(promote_input(NARROW_FLOATS))
op.convert((9, 0))(lambda adapter: is_nan(adapter, adapter.input(0), adapter.dtype(0)))
op.infer(9, 13, 20)(same_shape(DataType.BOOL))


@op.eval(9, 13, 20)
def evaluate(X: Array) -> Array:
    return np.isnan(promote_to_float32(X))
