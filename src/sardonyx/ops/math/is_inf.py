"""IsInf: which elements are infinite.

Spec: ai.onnx IsInf-10, -20.  20 adds the float types of 16 and 8 bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.arithmetic import widen
from sardonyx.ops.shapes import same_shape

op = Operator("IsInf", elementwise=True)
op.infer(10, 20)(same_shape(DataType.BOOL))


@op.eval(10, 20)
def evaluate(X: Array, *, detect_negative: int, detect_positive: int) -> Array:
    x = widen(X)
    return np.isinf(x) & np.where(x < 0, detect_negative != 0, detect_positive != 0)
