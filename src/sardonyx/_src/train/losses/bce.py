"""Binary cross entropy of logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sardonyx._src.dtypes import DataType
from sardonyx._src.train.losses.base import Loss, LossContext, LossValues, Reduction, check_reduction


@dataclass(frozen=True)
class BCEWithLogits(Loss):
    """The mean, or the sum, of `-(p t log s(x) + (1 - t) log(1 - s(x)))` with the logistic function s.

    The target t has the type and shape of the prediction x, with values in 0 to 1.  positive_weights: p, one number for each
    index of the last axis; 1 by default.  If the prediction is the result of a Sigmoid, the loss reads the input of that node.
    """

    positive_weights: Sequence[float] | None = None
    reduction: Reduction = "mean"
    links: ClassVar[tuple[str, ...]] = ("Sigmoid",)

    def __post_init__(self) -> None:
        check_reduction(self.reduction)

    def build(self, context: LossContext) -> LossValues:
        """-log s(x) = softplus(-x), and -log(1 - s(x)) = softplus(x) = x + softplus(-x), which does not overflow."""
        b, x = context.b, context.prediction
        target = context.like_prediction()
        rest = b.Sub(context.scalar(1), target)
        share = target
        if self.positive_weights is not None:
            share = b.Mul(target, context.vector(self.positive_weights, "positive_weights"))
        soft = b.Softplus(b.Neg(x))
        elements = b.Add(b.Mul(rest, x), b.Mul(b.Add(share, rest), soft))
        is_right = b.Equal(b.Greater(x, context.scalar(0)), b.Greater(target, context.scalar(0.5)))
        accuracy = b.ReduceMean(b.Cast(is_right, to=DataType.FLOAT), keepdims=0)
        return LossValues(context.reduce(elements, self.reduction), accuracy)
