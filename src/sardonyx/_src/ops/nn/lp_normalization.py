"""LpNormalization: elements divided by the norm of their line along an axis.

Spec: ai.onnx LpNormalization-1, -22, which differ in element types.  A line whose norm is 0 stays 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of, same_tensor
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("LpNormalization", tolerance="rounding")
op.convert((22, 1))(widening(NARROW_FLOATS))


@op.infer(1, 22)
def infer(t: Inference) -> Result:
    rank = t.rank(0)
    if rank is not None:
        t.axis(t.integer("axis"), rank)
    if t.integer("p") not in (1, 2):
        t.fail(f"p is {t.integer('p')}, where 1 or 2 is wanted")
    return same_tensor(t)


@op.eval(1, 22)
@in_float32
def evaluate(input: Array, *, axis: int, p: int) -> Array:
    """input, result: [..., n, ...] float; the p-norm of every line that is not 0 becomes 1."""
    axis = axis_of(axis, input.ndim)
    if p not in (1, 2):
        raise EvaluationError(f"p is {p}, where 1 or 2 is wanted")
    magnitudes = np.abs(input)
    top = magnitudes.max(axis=axis, keepdims=True, initial=0)
    top = np.where(np.isfinite(top) & (top > 0), top, 1).astype(input.dtype)  # keeps squares within range
    scaled = magnitudes / top
    norm = scaled.sum(axis=axis, keepdims=True)
    if p == 2:
        norm = np.sqrt(np.square(scaled).sum(axis=axis, keepdims=True))
    return input / top / np.where(norm == 0, 1, norm).astype(input.dtype)
