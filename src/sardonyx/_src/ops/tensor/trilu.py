"""Trilu: the upper or the lower triangle of matrices, with zeros for the rest.

Spec: ai.onnx Trilu-14.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import same_tensor
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("Trilu")


@op.convert((14, 0))
def by_where(c: Change) -> Converted:
    """Zeros where row and column say so."""
    rank, x = c.rank(0), c.input(0)
    sizes = c.Shape(x)
    rows, columns = (
        c.Range(c.integers(0), c.Gather(sizes, c.integers(rank - i)), c.integers(1)) for i in (2, 1)
    )
    diagonal = c.Add(c.Unsqueeze(rows, c.integers([1])), offset(c))
    is_zero = c.Less(columns, diagonal) if c.t.integer("upper") else c.Less(diagonal, columns)
    return c.Where(is_zero, c.constant(zero(c.dtype(0).numpy)), x)


def offset(c: Change) -> Value:
    """k, no further than any matrix reaches, so that sums with it do not overflow."""
    far = 1 << 62
    if c.optional(1) is None:
        return c.integers(0)
    known = c.t.constant(1)
    if known is not None:
        return c.integers(min(max(int(known.reshape(())), -far), far))
    k = c.Reshape(c.input(1), c.integers([]))
    return c.Min(c.Max(k, c.integers(-far)), c.integers(far))


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
