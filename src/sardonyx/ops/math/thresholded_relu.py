"""ThresholdedRelu: x where it is greater than alpha, 0 elsewhere.

Spec: ai.onnx ThresholdedRelu-1 (withdrawn), -10, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.shapes import same_tensor

op = Operator("ThresholdedRelu", elementwise=True)
op.infer(1, 10, 22)(same_tensor)


@op.eval(1, 10, 22)
@in_own_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return np.where(alpha < X, X, X.dtype.type(0))
