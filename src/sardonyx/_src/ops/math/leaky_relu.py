"""LeakyRelu: x where it is not negative, alpha * x elsewhere.

Spec: ai.onnx LeakyRelu-1, -6, -16.  16 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import element_type, real, scalar
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.shapes import same_tensor
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("LeakyRelu", tolerance="rounding", elementwise=True)
op.infer(1, 6, 16)(same_tensor)
op.convert((16, 6))(widening(NARROW_FLOATS))


@op.eval(6, 16)
@op.eval(1, ignores=("consumed_inputs",))
@in_own_type
def evaluate(X: Array, *, alpha: float) -> Array:
    return np.where(X < 0, alpha * X, X)


@op.body(16, opset=16)
def body(t: Inference) -> str:
    dtype = element_type(t)
    return f"""(x) => (y) {{
      zero = {scalar(0, dtype)}
      alpha = {scalar(real(t, "alpha"), dtype)}
      is_negative = Less(x, zero)
      leak = Mul(alpha, x)
      y = Where(is_negative, leak, x)
    }}"""
