"""ThresholdedRelu: x where it is greater than alpha, 0 elsewhere.

Spec: ai.onnx ThresholdedRelu-1 (withdrawn), -10, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("ThresholdedRelu", elementwise=True, exact_in_half=True)
op.infer(1, 10, 22)(same_tensor)
op.convert((22, 10))(promote_input(NARROW_FLOATS))


@op.eval(1, 10, 22)
@round_to_input_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return np.where(alpha < X, X, X.dtype.type(0))


@op.body(22, opset=16)
@op.body(10, opset=9)
def body(inference: Inference) -> str:
    """Narrow floats are compared as float, since their type may not hold alpha exactly."""
    dtype = element_type(inference)
    compared = promoted_type(dtype)
    return f"""(x) => (y) {{
      zero = {scalar(0, dtype)}
      alpha = {scalar(inference.number("alpha"), compared)}
      number = Cast <to = {int(compared)}> (x)
      is_above = Greater(number, alpha)
      y = Where(is_above, x, zero)
    }}"""
