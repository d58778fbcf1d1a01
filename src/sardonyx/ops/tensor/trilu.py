"""Trilu: the upper or the lower triangle of matrices, with zeros for the rest.

Spec: ai.onnx Trilu-14.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.shapes import same_tensor
from sardonyx.ops.tensor.zeros import zero

op = Operator("Trilu")


@op.infer(14)
def infer(t: Inference) -> Result:
    rank = t.rank(0)
    if rank is not None and rank < 2:
        t.fail(f"the input has rank {rank}, where matrices are wanted")
    return same_tensor(t)


@op.eval(14)
def evaluate(input: Array, k: Array | None = None, *, upper: int) -> Array:
    """input, result: [..., n, m]; k: int64 scalar, the diagonal that still belongs to the triangle, 0 by default."""
    if input.ndim < 2:
        raise EvaluationError(f"the input has rank {input.ndim}, where matrices are wanted")
    rows, columns = input.shape[-2:]
    diagonal = 0 if k is None else max(min(int(k.reshape(())), columns), -rows)
    above = np.arange(columns) - np.arange(rows)[:, None]
    return np.where(above >= diagonal if upper else above <= diagonal, input, zero(input.dtype))
