"""Swish: x * sigmoid(alpha * x).

Spec: ai.onnx Swish-24.
"""

from __future__ import annotations

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.sigmoid import sigmoid
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("Swish", tolerance="rounding", elementwise=True)
op.infer(24)(same_tensor)


@op.eval(24)
@round_to_input_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return X * sigmoid(alpha * X)


@op.body(24, opset=13)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      alpha = {scalar(inference.number("alpha"), element_type(inference))}
      scaled = Mul(alpha, x)
      gate = Sigmoid(scaled)
      y = Mul(x, gate)
    }}"""
