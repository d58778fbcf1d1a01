"""Swish: x * sigmoid(alpha * x).

Spec: ai.onnx Swish-24.
"""

from __future__ import annotations

from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.math.sigmoid import sigmoid
from sardonyx.ops.shapes import same_tensor

op = Operator("Swish", tolerance="rounding", elementwise=True)
op.infer(24)(same_tensor)


@op.eval(24)
@in_own_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return X * sigmoid(alpha * X)
