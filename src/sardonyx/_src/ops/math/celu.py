"""Celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

Spec: ai.onnx Celu-12, -28.  12 accepts only float, 28 every float type of 16 bits and more.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.support.body_text import scalars
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("Celu", tolerance="rounding", elementwise=True)
op.infer(12, 28)(same_tensor)
op.convert((28, 12))(promote_input(NARROW_FLOATS))


@op.eval(12, 28)
@round_to_input_type
def evaluate(X: Array, *, alpha: float) -> Array:
    zero = X.dtype.type(0)
    return np.maximum(zero, X) + np.minimum(zero, alpha * np.expm1(X / alpha))


@op.body(28, opset=13)
@op.body(12, opset=8)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      {scalars(inference, "alpha", zero=0, one=1)}
      positive = Max(x, zero)
      negative = Min(x, zero)
      scaled = Div(negative, alpha)
      power = Exp(scaled)
      less = Sub(power, one)
      curve = Mul(alpha, less)
      y = Add(positive, curve)
    }}"""
