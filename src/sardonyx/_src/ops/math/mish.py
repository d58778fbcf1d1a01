"""Mish: x * tanh(log(exp(x) + 1)).

Spec: ai.onnx Mish-18, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.math.softplus import softplus, text
from sardonyx._src.ops.support.body_text import element_type

op = Operator("Mish", tolerance="rounding", elementwise=True)
define_unary(op, (18, 22), lambda x: x * np.tanh(softplus(x)))


@op.body(18, 22, opset=13)
def body(inference: Inference) -> str:
    return f"""(x) => (y) {{{text("x", "soft", element_type(inference))}
      gate = Tanh(soft)
      y = Mul(x, gate)
    }}"""
