"""Binarizer: 1 for elements above a threshold, 0 for the others, including NaN.

Spec: ai.onnx.ml Binarizer-1.
"""

from __future__ import annotations

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.body_text import OPSET, cast_text, computed_type
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("Binarizer", "ai.onnx.ml", elementwise=True)
op.infer(1)(same_tensor)


@op.eval(1)
def evaluate(X: Array, *, threshold: float) -> Array:
    """X, result: any shape, of one type."""
    return (threshold < X).astype(X.dtype)


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    dtype, threshold = element_type(inference), inference.number("threshold")
    return f"""(X) => (Y) {{
      {cast_text(inference, "X", "x", dtype)}
      threshold = {scalar(threshold, computed_type(inference))}
      is_above = Greater(x, threshold)
      Y = Cast <to = {dtype.value}> (is_above)
    }}"""
