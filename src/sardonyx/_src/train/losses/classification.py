"""Class scores and their labels, in the layout that the losses of classifications share."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import Labels, LossContext


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Scores with the classes on axis 1, and integer labels of the same shape without that axis.

    scores: [N, C, d...], float.  labels: [N, d...], int64.
    """

    scores: Value
    labels: Value


def class_scores(context: LossContext, axis: int, ignored: int | None) -> ClassScores:
    """The prediction as class scores; adds the labels, which have the prediction's shape without `axis`, as an input.

    Classes on the last of several axes are moved to axis 1 by flattening the others: [N..., C] becomes [M, C].
    """
    b, shape = context.b, context.shape
    position = context.axis(axis)
    classes = shape[position]
    rest = (*shape[:position], *shape[position + 1 :])
    known = Labels(classes if isinstance(classes, int) else None, ignored)
    labels = context.target(DataType.INT64, rest, labels=known)
    scores = context.prediction
    if position == 1:
        return ClassScores(scores, labels)
    if position != len(shape) - 1:
        order = [0, position, *(i for i in range(1, len(shape)) if i != position)]
        if position == 0:
            raise InputError("axis must not be 0, which counts examples; got 0", name="axis")
        return ClassScores(b.Transpose(scores, perm=order), labels)
    if len(shape) == 1:
        raise InputError("the prediction must have an axis of examples; got rank 1", name="output")
    if not isinstance(classes, int):
        raise InputError(f"the number of classes must be known; got {classes} on axis {axis}", name="output")
    return ClassScores(b.Reshape(scores, b.integers([-1, classes])), b.Reshape(labels, b.integers([-1])))


def mask_of(context: LossContext, labels: Value, ignored: int | None) -> Value | None:
    """Which labels count, those other than `ignored`: bool, in the shape of the labels; None if all do."""
    if ignored is None:
        return None
    return context.b.Not(context.b.Equal(labels, context.b.scalar(ignored, DataType.INT64)))


def share_of_right(context: LossContext, data: ClassScores, ignored: int | None) -> Value:
    """The share of labels that are the class of the largest score, among those that count: float32, scalar."""
    b = context.b
    best = b.ArgMax(data.scores, axis=1, keepdims=0)
    is_right = b.Equal(best, data.labels)
    mask = mask_of(context, data.labels, ignored)
    if mask is None:
        return b.ReduceMean(b.Cast(is_right, to=DataType.FLOAT), keepdims=0)
    right = b.ReduceSum(b.Cast(b.And(is_right, mask), to=DataType.FLOAT), keepdims=0)
    count = b.ReduceSum(b.Cast(mask, to=DataType.FLOAT), keepdims=0)
    return b.Div(right, b.Max(count, b.scalar(1)))
