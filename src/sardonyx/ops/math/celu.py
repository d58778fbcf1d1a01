"""Celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

Spec: ai.onnx Celu-12, -28.  12 takes float alone, 28 every float type of 16 bits and more.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.shapes import same_tensor

op = Operator("Celu", tolerance="rounding", elementwise=True)
op.infer(12, 28)(same_tensor)


@op.eval(12, 28)
@in_own_type
def evaluate(X: Array, *, alpha: float) -> Array:
    zero = X.dtype.type(0)
    return np.maximum(zero, X) + np.minimum(zero, alpha * np.expm1(X / alpha))
