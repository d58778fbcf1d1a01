"""Binarizer: 1 for elements above a threshold, 0 for others, NaN among them.

Spec: ai.onnx.ml Binarizer-1.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("Binarizer", "ai.onnx.ml", elementwise=True)
op.infer(1)(same_tensor)


@op.eval(1)
def evaluate(X: Array, *, threshold: float) -> Array:
    """X, result: any shape, of one type."""
    return (threshold < X).astype(X.dtype)
