"""Trilu: the upper or lower triangle of matrices, with zeros elsewhere.

Spec: ai.onnx Trilu-14.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.tensor.zeros import zero
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Trilu", moves_data=True, parameters=(1,))


@op.convert((14, 0))
def replace_by_where(adapter: Adapter) -> AdaptedNode:
    """Where, whose condition compares row and column numbers."""
    rank, x = adapter.rank(0), adapter.input(0)
    sizes = adapter.Shape(x)
    rows, columns = (
        adapter.Range(
            adapter.integers(0), adapter.Gather(sizes, adapter.integers(rank - i)), adapter.integers(1)
        )
        for i in (2, 1)
    )
    diagonal = adapter.Add(adapter.Unsqueeze(rows, adapter.integers([1])), offset(adapter))
    is_zero = (
        adapter.Less(columns, diagonal)
        if adapter.inference.integer("upper")
        else adapter.Less(diagonal, columns)
    )
    return adapter.Where(is_zero, adapter.constant(zero(adapter.dtype(0).numpy)), x)


def offset(adapter: Adapter) -> Value:
    """k, clamped so that sums with it do not overflow."""
    max_offset = 1 << 62  # half the range of int64
    if adapter.optional(1) is None:
        return adapter.integers(0)
    known = adapter.inference.constant(1)
    if known is not None:
        return adapter.integers(min(max(int(known.reshape(())), -max_offset), max_offset))
    k = adapter.Reshape(adapter.input(1), adapter.integers([]))
    return adapter.Min(adapter.Max(k, adapter.integers(-max_offset)), adapter.integers(max_offset))


@op.infer(14)
def infer(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank is not None and rank < 2:
        inference.fail(f"the input must have rank >= 2 ([..., n, m]); got rank {rank}")
    return same_tensor(inference)


@op.eval(14)
def evaluate(input: Array, k: Array | None = None, *, upper: int) -> Array:
    """input, result: [..., n, m]; k: int64 scalar, the outermost diagonal of the triangle, 0 by default."""
    if input.ndim < 2:
        raise EvaluationError(f"the input must have rank >= 2 ([..., n, m]); got rank {input.ndim}")
    rows, columns = input.shape[-2:]
    diagonal = 0 if k is None else max(min(int(k.reshape(())), columns), -rows)
    above = np.arange(columns) - np.arange(rows)[:, None]
    return np.where(above >= diagonal if upper else above <= diagonal, input, zero(input.dtype))
