"""HardSigmoid: alpha * x + beta, limited to [0, 1].

Spec: ai.onnx HardSigmoid-1, -6, -22.  22 adds bfloat16.
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

op = Operator("HardSigmoid", tolerance="rounding", elementwise=True)
op.infer(1, 6, 22)(same_tensor)
op.convert((22, 6))(promote_input(NARROW_FLOATS))


@op.eval(6, 22)
@op.eval(1, ignores=("consumed_inputs",))
@round_to_input_type
def evaluate(X: Array, *, alpha: float, beta: float) -> Array:
    return np.clip(alpha * X + beta, 0, 1)


@op.body(22, opset=13)
@op.body(6, opset=8)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      {scalars(inference, "alpha", "beta", zero=0, one=1)}
      steep = Mul(alpha, x)
      line = Add(steep, beta)
      low = Min(line, one)
      y = Max(low, zero)
    }}"""
