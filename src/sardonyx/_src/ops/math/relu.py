"""Relu: the positive part.

Spec: ai.onnx Relu-1, -6, -13, -14.  13 adds bfloat16, 14 signed integers.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.body_text import element_type, scalar

op = Operator("Relu", elementwise=True, exact_in_half=True)
define_unary(op, (1, 6, 13, 14), lambda x: np.maximum(x, x.dtype.type(0)))


@op.body(14, opset=13)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{
      zero = {scalar(0, element_type(inference))}
      y = Max(x, zero)
    }}"""
