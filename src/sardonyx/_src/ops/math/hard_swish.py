"""HardSwish: x times a gate, which is x / 6 + 0.5 limited to [0, 1].

Spec: ai.onnx HardSwish-14, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.body_text import scalars

op = Operator("HardSwish", tolerance="rounding", elementwise=True)
define_unary(op, (14, 22), lambda x: x * np.clip(x / 6 + 0.5, 0, 1))


@op.body(14, 22, opset=13)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      {scalars(inference, zero=0, half=0.5, one=1, six=6)}
      steep = Div(x, six)
      line = Add(steep, half)
      low = Min(line, one)
      gate = Max(low, zero)
      y = Mul(x, gate)
    }}"""
