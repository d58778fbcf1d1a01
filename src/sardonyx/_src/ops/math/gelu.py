"""Gelu: x times the probability that a normal variable is below x.

Spec: ai.onnx Gelu-20.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.erf import erf
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "Gelu",
    tolerance="rounding",
    elementwise=True,
    enum_attributes={"approximate": enum_values("none", "tanh")},
)
op.infer(20)(same_tensor)


@op.eval(20)
@round_to_input_type
def evaluate(X: Array, *, approximate: str) -> Array:
    if approximate == "none":
        return 0.5 * X * (1 + erf(X / math.sqrt(2)))
    if approximate == "tanh":
        return 0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))
    raise EvaluationError(f"approximate must be 'none' or 'tanh'; got {approximate!r}")


@op.body(20, opset=13)
def body(inference: Inference) -> str:
    dtype = element_type(inference)
    if inference.attributes["approximate"] == "tanh":
        curve = f"""
      cubic = {scalar(0.044715, dtype)}
      scale = {scalar(math.sqrt(2 / math.pi), dtype)}
      square = Mul(x, x)
      cube = Mul(square, x)
      bend = Mul(cubic, cube)
      bent = Add(x, bend)
      inner = Mul(scale, bent)
      curve = Tanh(inner)"""
    else:
        curve = f"""
      root = {scalar(math.sqrt(2), dtype)}
      inner = Div(x, root)
      curve = Erf(inner)"""
    return f"""(x) => (y) {{
      half = {scalar(0.5, dtype)}
      one = {scalar(1, dtype)}{curve}
      raised = Add(one, curve)
      halved = Mul(half, x)
      y = Mul(halved, raised)
    }}"""
