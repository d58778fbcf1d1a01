"""Cross entropy of class scores, with class weights, an ignored label and label smoothing.

Spec: ai.onnx SoftmaxCrossEntropyLoss-13.  Label smoothing: Szegedy et al., "Rethinking the Inception Architecture for
Computer Vision", 2016, section 7; class weights apply to it as in PyTorch's CrossEntropyLoss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sardonyx._src.arguments import require_integer
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import (
    INT64_RANGE,
    Loss,
    LossContext,
    LossValues,
    Reduction,
    check_number,
    check_reduction,
    check_weights,
)
from sardonyx._src.train.losses.classification import (
    ClassScores,
    class_scores,
    mask_of,
    share_of_right,
)


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """The negative logarithm of the softmax of logits at the label: `-w[t] log softmax(x)[t]`.

    The target has the shape of the prediction without `axis`, int64.  The mean divides by the sum of the weights of the
    labels.  If the prediction is the result of a Softmax or LogSoftmax, the loss reads the input of that node.
    weights: one number for each class.
    ignore_index: a label whose examples do not count.
    smoothing: the share of the label that is spread evenly over all classes, in 0 to 1.
    axis: the axis of the classes.

    Raises InputError for parameters out of range.
    """

    weights: Sequence[float] | None = None
    ignore_index: int | None = None
    smoothing: float = 0.0
    reduction: Reduction = "mean"
    axis: int = 1
    links: ClassVar[tuple[str, ...]] = ("Softmax", "LogSoftmax")

    def __post_init__(self) -> None:
        check_reduction(self.reduction)
        check_number("smoothing", self.smoothing, 0, 1)
        require_integer("ignore_index", self.ignore_index, *INT64_RANGE, optional=True)
        require_integer("axis", self.axis)
        check_weights("weights", self.weights)

    def build(self, context: LossContext) -> LossValues:
        data = class_scores(context, self.axis, self.ignore_index)
        weights = self.class_weights(context)
        if self.smoothing:
            loss = self.build_smooth(context, data, weights)
        else:
            loss = context.b.SoftmaxCrossEntropyLoss(
                data.scores, data.labels, weights, reduction=self.reduction, ignore_index=self.ignore_index
            )
        return LossValues(loss, share_of_right(context, data, self.ignore_index))

    def class_weights(self, context: LossContext) -> Value | None:
        """The weights as a constant, one for each class."""
        if self.weights is None:
            return None
        classes = context.shape[context.axis(self.axis)]
        if isinstance(classes, int) and len(self.weights) != classes:
            raise InputError(
                f"weights must be {classes} numbers, one for each class; got {len(self.weights)}",
                name="weights",
            )
        return context.vector(self.weights, "weights")

    def build_smooth(self, context: LossContext, data: ClassScores, weights: Value | None) -> Value:
        """The sum over classes of `-q w log p`, where q is 1 - s at the label plus s / C everywhere."""
        b = context.b
        log_p = b.LogSoftmax(data.scores, axis=1)
        classes = context.shape[context.axis(self.axis)]
        if not isinstance(classes, int):
            raise InputError("the number of classes must be known for smoothing", name="smoothing")
        mask = mask_of(context, data.labels, self.ignore_index)
        labels = data.labels if mask is None else b.Where(mask, data.labels, b.scalar(0, DataType.INT64))
        hot = b.Cast(b.OneHot(labels, b.integers([classes]), b.integers([0, 1]), axis=1), to=context.dtype)
        if weights is not None:
            rank = len(context.shape)
            spatial = 0 if context.axis(self.axis) == rank - 1 else rank - 2
            column = b.Reshape(weights, b.integers([1, classes, *[1] * spatial]))
            log_p = b.Mul(log_p, column)
            share = b.ReduceSum(b.Mul(hot, column), b.integers([1]), keepdims=0)
        else:
            share = b.ReduceSum(hot, b.integers([1]), keepdims=0)
        at_label = b.ReduceSum(b.Mul(log_p, hot), b.integers([1]), keepdims=0)
        everywhere = b.ReduceSum(log_p, b.integers([1]), keepdims=0)
        losses = b.Add(
            b.Mul(at_label, context.scalar(self.smoothing - 1)),
            b.Mul(everywhere, context.scalar(-self.smoothing / classes)),
        )
        if mask is not None:
            counts = b.Cast(mask, to=context.dtype)
            losses, share = b.Mul(losses, counts), b.Mul(share, counts)
        total = b.ReduceSum(losses, keepdims=0)
        return total if self.reduction == "sum" else b.Div(total, b.ReduceSum(share, keepdims=0))
