"""LeakyRelu: x where it is not negative, alpha * x elsewhere.

Spec: ai.onnx LeakyRelu-1, -6, -16.  16 adds bfloat16.
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

op = Operator("LeakyRelu", tolerance="rounding", elementwise=True)
op.infer(1, 6, 16)(same_tensor)
op.convert((16, 6))(promote_input(NARROW_FLOATS))


@op.eval(6, 16)
@op.eval(1, ignores=("consumed_inputs",))
@round_to_input_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return np.where(X < 0, alpha * X, X)


@op.body(16, opset=16)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      {scalars(inference, "alpha", zero=0)}
      is_negative = Less(x, zero)
      leak = Mul(alpha, x)
      y = Where(is_negative, leak, x)
    }}"""
