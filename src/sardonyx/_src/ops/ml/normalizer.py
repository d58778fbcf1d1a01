"""Normalizer: rows divided by their largest element, by the sum of their absolute values, or by their Euclidean length.

Spec: ai.onnx.ml Normalizer-1, whose formulas do not say how signs are treated.  Here L1 sums absolute values, L2 keeps the
sign of each element, and MAX divides by the largest element, not by the largest absolute value.  A row whose divisor is 0 is
not changed.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.body_text import OPSET
from sardonyx._src.ops.support.body_text import element_type, scalar, vector
from sardonyx._src.ops.traits import enum_values

REDUCTIONS = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}
op = Operator(
    "Normalizer", "ai.onnx.ml", tolerance="rounding", enum_attributes={"norm": enum_values("MAX", "L1", "L2")}
)


@op.infer(1)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is not None and len(shape) not in (1, 2):
        inference.fail(f"input 0 must be [N, C] or [C]; got rank {len(shape)}")
    return TensorType(DataType.FLOAT, shape)


@op.eval(1)
def evaluate(X: Array, *, norm: str) -> Array:
    """X, result: [N, C] or [C]; the result is float32."""
    if X.ndim not in (1, 2):
        raise EvaluationError(f"X must be [N, C] or [C]; got shape {list(X.shape)}")
    x = X.astype(np.float64)
    if X.shape[-1] == 0:
        return x.astype(np.float32)
    with np.errstate(all="ignore"):
        divisor = length(x, norm)
        return (x / np.where(divisor == 0, 1, divisor)).astype(np.float32)


def length(x: Array, norm: str) -> Array:
    if norm == "MAX":
        return x.max(axis=-1, keepdims=True)
    if norm == "L1":
        return np.abs(x).sum(axis=-1, keepdims=True)
    if norm == "L2":
        return np.sqrt((x * x).sum(axis=-1, keepdims=True))
    raise EvaluationError(f"norm must be MAX, L1 or L2; got {norm!r}")


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    """The body computes in double, since squares would overflow in float32."""
    shape, norm = inference.shape(0), str(inference.attributes["norm"])
    if shape is None or not isinstance(shape[-1], int) or shape[-1] == 0:
        inference.fail("the number of features must be known and positive for a body")
    if norm not in REDUCTIONS:
        inference.fail(f"norm must be MAX, L1 or L2; got {norm!r}")
    double = DataType.DOUBLE
    return f"""(X) => (Y) {{
      x = {"Identity" if element_type(inference) is double else f"Cast <to = {double.value}>"}(X)
      last_axis = {vector([-1])}
      length = {REDUCTIONS[norm]} <keepdims = 1> (x, last_axis)
      none = {scalar(0, double)}
      one = {scalar(1, double)}
      is_none = Equal(length, none)
      divisor = Where(is_none, one, length)
      quotient = Div(x, divisor)
      Y = Cast <to = {DataType.FLOAT.value}> (quotient)
    }}"""
