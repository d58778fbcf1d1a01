"""Selu: gamma * x where x is positive, gamma * alpha * (exp(x) - 1) elsewhere.

Spec: ai.onnx Selu-1, -6, -22.  6 changes the defaults in the sixth digit, 22 adds bfloat16.
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

op = Operator("Selu", tolerance="rounding", elementwise=True)
op.infer(1, 6, 22)(same_tensor)
op.convert((22, 6))(promote_input(NARROW_FLOATS))


@op.eval(6, 22)
@op.eval(1, ignores=("consumed_inputs",))
@round_to_input_type
def evaluate(X: Array, *, alpha: float, gamma: float) -> Array:
    return gamma * np.where(X > 0, X, alpha * np.expm1(X))


@op.body(22, opset=16)
@op.body(6, opset=9)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      {scalars(inference, "alpha", "gamma", zero=0, one=1)}
      is_positive = Greater(x, zero)
      negative = Min(x, zero)
      power = Exp(negative)
      less = Sub(power, one)
      curve = Mul(alpha, less)
      chosen = Where(is_positive, x, curve)
      y = Mul(gamma, chosen)
    }}"""
