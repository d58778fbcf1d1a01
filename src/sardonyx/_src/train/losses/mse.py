"""Mean squared error."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.train.losses.base import Loss, LossContext, LossValues, Reduction, check_reduction


@dataclass(frozen=True)
class MSE(Loss):
    """The mean, or the sum, of `(x - t)^2` over all elements; the target t has the type and shape of the prediction x."""

    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        check_reduction(self.reduction)

    def build(self, context: LossContext) -> LossValues:
        difference = context.b.Sub(context.prediction, context.like_prediction())
        return LossValues(context.reduce(context.b.Mul(difference, difference), self.reduction))
