"""Softsign: x / (1 + |x|).

Spec: ai.onnx Softsign-1, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.body_text import element_type, scalar

op = Operator("Softsign", tolerance="rounding", elementwise=True)
define_unary(op, (1, 22), lambda x: x / (1 + np.abs(x)))


@op.body(22, opset=13)
@op.body(1, opset=7)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      one = {scalar(1, element_type(inference))}
      size = Abs(x)
      more = Add(one, size)
      y = Div(x, more)
    }}"""
