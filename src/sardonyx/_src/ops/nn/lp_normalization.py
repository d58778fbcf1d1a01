"""LpNormalization: elements divided by the p-norm along an axis.

Spec: ai.onnx LpNormalization-1, -22, which differ in element types.  A line of zeros stays as it is.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import axis_of, same_tensor

op = Operator("LpNormalization", tolerance="rounding")
op.convert((22, 1))(promote_input(NARROW_FLOATS))


@op.infer(1, 22)
def infer(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank is not None:
        inference.axis(inference.integer("axis"), rank)
    if inference.integer("p") not in (1, 2):
        inference.fail(f"p must be 1 or 2; got {inference.integer('p')}")
    return same_tensor(inference)


@op.eval(1, 22)
@compute_in_float32
def evaluate(input: Array, *, axis: int, p: int) -> Array:
    """input, result: [..., n, ...] float; every line but one of zeros gets the p-norm 1."""
    axis = axis_of(axis, input.ndim)
    if p not in (1, 2):
        raise EvaluationError(f"p must be 1 or 2; got {p}")
    magnitudes = np.abs(input)
    top = magnitudes.max(axis=axis, keepdims=True, initial=0)
    top = np.where(np.isfinite(top) & (top > 0), top, 1).astype(input.dtype)  # keeps squares within range
    scaled = magnitudes / top
    norm = scaled.sum(axis=axis, keepdims=True)
    if p == 2:
        norm = np.sqrt(np.square(scaled).sum(axis=axis, keepdims=True))
    return input / top / np.where(norm == 0, 1, norm).astype(input.dtype)
