"""Det: the determinant of square matrices, batched over the axes before the last two.

Spec: ai.onnx Det-11, -22, which differ in element types.  The determinant of a matrix without rows is 1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("Det", tolerance="rounding")
op.convert((22, 11))(widening(NARROW_FLOATS))


@op.infer(11, 22)
def infer(t: Inference) -> Result:
    x = t.tensor(0)
    if x is None or x.shape is None:
        return x and TensorType(x.dtype)
    if len(x.shape) < 2:
        t.fail(f"the input has rank {len(x.shape)}, where matrices are wanted")
    merge_dims(t, x.shape[-2:], "rows and columns")
    return TensorType(x.dtype, x.shape[:-2])


@op.eval(11, 22)
@in_float32
def evaluate(X: Array) -> Array:
    """X: [..., m, m] float; result: [...], NaN for a matrix that has one."""
    if X.ndim < 2 or X.shape[-1] != X.shape[-2]:
        raise EvaluationError(f"the input has shape {list(X.shape)}, where square matrices are wanted")
    lost = np.isnan(X).any(axis=(-2, -1))  # LAPACK may take such a matrix for a singular one
    return np.where(lost, X.dtype.type(np.nan), np.linalg.det(X))
