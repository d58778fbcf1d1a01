"""Operators that combine elements along some axes: softmax, normalization, arg-reductions, sorting, sums.

They keep rows independent if the batch axis is none of these axes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.serve.batching.row_step import MIXED, RowAxis, RowStep, normalized, row_rule


@row_rule("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def along_axis(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None:
        return MIXED
    return MIXED if normalized(step.integer("axis", -1), rank) == batch else batch


@row_rule("CumSum", "CumProd")
def cumulative(step: RowStep) -> RowAxis:
    batch, rank, axes = step.batched(0), step.rank(0), step.constant_integers(1)
    if batch is None or rank is None or not axes or len(axes) != 1:
        return MIXED
    return MIXED if normalized(axes[0], rank) == batch else batch


@row_rule("TopK")
def top_k(step: RowStep) -> RowAxis:
    return along_axis(step) if step.is_constant(1) else MIXED


@row_rule("ArgMax", "ArgMin")
def arg_reduction(step: RowStep) -> RowAxis:
    return reduced(step, (step.integer("axis", 0),))


def reduction(step: RowStep) -> RowAxis:
    """The rule of all operators with the trait `reduction`."""
    axes = step.constant_integers(1) if step.has(1) else step.integers("axes") or ()
    if axes is None:
        return MIXED
    if not axes:
        return step.axis(0) if step.integer("noop_with_empty_axes", 0) else MIXED
    return reduced(step, axes)


def reduced(step: RowStep, axes: Sequence[int]) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None:
        return MIXED
    gone = {normalized(axis, rank) for axis in axes}
    if batch in gone:
        return MIXED
    return batch if step.integer("keepdims", 1) else batch - sum(axis < batch for axis in gone)


@row_rule("LayerNormalization", "RMSNormalization")
def trailing_normalization(step: RowStep) -> RowAxis | Sequence[RowAxis]:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or batch >= normalized(step.integer("axis", -1), rank):
        return MIXED
    if not all(step.is_constant(i) and step.has_extent_1(i, rank - batch) for i in (1, 2) if step.has(i)):
        return MIXED
    return batch


@row_rule("MeanVarianceNormalization")
def mean_variance_normalization(step: RowStep) -> RowAxis:
    axes, batch, rank = step.integers("axes") or (0, 2, 3), step.batched(0), step.rank(0)
    if batch is None or rank is None or batch in {normalized(axis, rank) for axis in axes}:
        return MIXED
    return batch


@row_rule("Trilu")
def trilu(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or batch >= rank - 2 or not step.is_constant(1):
        return MIXED
    return batch
