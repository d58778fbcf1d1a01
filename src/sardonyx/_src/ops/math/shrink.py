"""Shrink: bias added below -lambd and subtracted above lambd; 0 in between.

Spec: ai.onnx Shrink-9.  For integer elements, the bias is first rounded toward zero to an integer.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("Shrink", tolerance="rounding", elementwise=True)
op.infer(9)(same_tensor)


@op.eval(9)
@round_to_input_type
def evaluate(input: Array, *, bias: float, lambd: float) -> Array:
    amount = bias if input.dtype.kind == "f" else bias_as_integer(bias, input.dtype)
    raised = np.where(input < -lambd, input + amount, input.dtype.type(0))
    return np.where(input > lambd, input - amount, raised)


def bias_as_integer(bias: float, dtype: np.dtype[np.generic]) -> Array:
    """The bias rounded toward zero to an integer of that type; it wraps around beyond the type's range."""
    if not math.isfinite(bias):
        raise EvaluationError(f"bias must be finite for elements of {dtype}; got {bias}")
    bits = 8 * dtype.itemsize
    return np.array(int(bias) % (1 << bits), f"u{dtype.itemsize}").astype(dtype)


@op.body(9, opset=9)
def body(inference: Inference) -> str:
    """Integers are computed in int64 or uint64: Add does not accept those of 8 and 16 bits in operator set 9."""
    dtype, lambd, bias = (
        element_type(inference),
        inference.number("lambd"),
        inference.number("bias"),
    )
    compared = promoted_type(dtype)
    own = compared
    if dtype.is_integer:
        own = DataType.UINT64 if dtype is DataType.UINT64 else DataType.INT64
    amount = bias if own.is_float else bias_as_integer(bias, own.numpy).item()
    return f"""(x) => (y) {{
      zero = {scalar(0, own)}
      bias = {scalar(amount, own)}
      lower = {scalar(-lambd, compared)}
      upper = {scalar(lambd, compared)}
      number = Cast <to = {int(compared)}> (x)
      is_below = Less(number, lower)
      is_above = Greater(number, upper)
      wide = Cast <to = {int(own)}> (x)
      raised = Add(wide, bias)
      lowered = Sub(wide, bias)
      outside = Where(is_below, raised, zero)
      shrunk = Where(is_above, lowered, outside)
      y = Cast <to = {int(dtype)}> (shrunk)
    }}"""
