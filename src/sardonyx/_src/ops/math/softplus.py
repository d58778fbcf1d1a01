"""Softplus: log(exp(x) + 1).

Spec: ai.onnx Softplus-1, -22.  22 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.body_text import element_type, scalar

op = Operator("Softplus", tolerance="rounding", elementwise=True)


def softplus(x: Array) -> Array:
    """x: float32 or float64."""
    return np.logaddexp(x, x.dtype.type(0))


define_unary(op, (1, 22), softplus)


@op.body(22, opset=13)
@op.body(1, opset=7)
def body(inference: Inference) -> str:
    return f"(x) => (y) {{ {text('x', 'y', element_type(inference))} }}"


def text(x: str, y: str, dtype: DataType) -> str:
    """The nodes of y = log(exp(x) + 1), written as max(x, 0) + log(1 + exp(-|x|)), which never overflows."""
    return f"""
      one = {scalar(1, dtype)}
      positive = Relu({x})
      size = Abs({x})
      opposite = Neg(size)
      small = Exp(opposite)
      sum = Add(one, small)
      rest = Log(sum)
      {y} = Add(positive, rest)"""
