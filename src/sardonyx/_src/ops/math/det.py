"""Det: the determinant of square matrices, batched over the axes before the last two.

Spec: ai.onnx Det-11, -22, which differ in element types.  The determinant of a matrix without rows is 1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import merge_dims

op = Operator("Det", tolerance="rounding")
op.convert((22, 11))(promote_input(NARROW_FLOATS))


@op.infer(11, 22)
def infer(inference: Inference) -> Result:
    x = inference.tensor(0)
    if x is None or x.shape is None:
        return x and TensorType(x.dtype)
    if len(x.shape) < 2:
        inference.fail(f"the input must have rank >= 2; got rank {len(x.shape)}")
    merge_dims(inference, x.shape[-2:], "rows and columns")
    return TensorType(x.dtype, x.shape[:-2])


@op.eval(11, 22)
@compute_in_float32
def evaluate(X: Array) -> Array:
    """X: [..., m, m] float; result: [...], NaN for a matrix that contains NaN."""
    if X.ndim < 2 or X.shape[-1] != X.shape[-2]:
        raise EvaluationError(f"the input must hold square matrices [..., n, n]; got shape {list(X.shape)}")
    has_nan = np.isnan(X).any(axis=(-2, -1))  # LAPACK may report such a matrix as singular
    return np.where(has_nan, X.dtype.type(np.nan), np.linalg.det(X))
