"""SwiGLU: Swish of A, times B.

Spec: ai.onnx SwiGLU-28.  A and B are of one shape; nothing is broadcast.
"""

from __future__ import annotations

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import require_same_shapes, round_to_input_type, same_shapes
from sardonyx._src.ops.math.sigmoid import sigmoid
from sardonyx._src.ops.support.body_text import element_type, scalar

op = Operator("SwiGLU", tolerance="rounding", elementwise=True)
op.infer(28)(same_shapes)


@op.eval(28)
@round_to_input_type
def evaluate(A: Array, B: Array, *, alpha: float) -> Array:
    require_same_shapes((A, B))
    return A * sigmoid(alpha * A) * B


@op.body(28, opset=13)
def body(inference: Inference) -> str:
    return f"""(a, b) => (y) {{
      alpha = {scalar(inference.number("alpha"), element_type(inference))}
      scaled = Mul(alpha, a)
      gate = Sigmoid(scaled)
      swish = Mul(a, gate)
      y = Mul(swish, b)
    }}"""
