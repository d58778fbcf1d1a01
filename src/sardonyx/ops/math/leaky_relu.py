"""LeakyRelu: x where it is not negative, alpha * x elsewhere.

Spec: ai.onnx LeakyRelu-1, -6, -16.  16 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.shapes import same_tensor

op = Operator("LeakyRelu", tolerance="rounding", elementwise=True)
op.infer(1, 6, 16)(same_tensor)


@op.eval(6, 16)
@op.eval(1, ignores=("consumed_inputs",))
@in_own_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return np.where(X < 0, alpha * X, X)
