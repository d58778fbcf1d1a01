"""IsNaN: which elements are no numbers.

Spec: ai.onnx IsNaN-9, -13, -20.  13 adds bfloat16, 20 the float types of 8 bits.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.arithmetic import widen
from sardonyx.ops.shapes import same_shape

op = Operator("IsNaN", elementwise=True)
op.infer(9, 13, 20)(same_shape(DataType.BOOL))


@op.eval(9, 13, 20)
def evaluate(X: Array) -> Array:
    return np.isnan(widen(X))
