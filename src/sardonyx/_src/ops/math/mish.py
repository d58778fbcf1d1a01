"""Mish: x * tanh(log(exp(x) + 1)).

Spec: ai.onnx Mish-18, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.body_text import element_type
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import function_of_one
from sardonyx._src.ops.math.softplus import softplus, text

op = Operator("Mish", tolerance="rounding", elementwise=True)
function_of_one(op, (18, 22), lambda x: x * np.tanh(softplus(x)))


@op.body(18, 22, opset=13)
def body(t: Inference) -> str:
    return f"""(x) => (y) {{{text("x", "soft", element_type(t))}
      gate = Tanh(soft)
      y = Mul(x, gate)
    }}"""
