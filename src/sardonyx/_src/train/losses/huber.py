"""Huber loss: quadratic near the target, linear far from it (Huber, "Robust Estimation of a Location Parameter", 1964)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sardonyx._src.train.losses.base import (
    Loss,
    LossContext,
    LossValues,
    Reduction,
    check_number,
    check_reduction,
)


@dataclass(frozen=True)
class Huber(Loss):
    """The mean, or the sum, of `e^2 / 2` where `|e| <= delta` and `delta (|e| - delta / 2)` elsewhere.

    e = x - t is the prediction minus the target, which has the type and shape of the prediction.
    """

    delta: float = 1.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        check_reduction(self.reduction)
        check_number("delta", self.delta, 0, math.inf, open_low=True)

    def build(self, context: LossContext) -> LossValues:
        """With m = min(|e|, delta), both branches are `m (|e| - m / 2)`."""
        b = context.b
        size = b.Abs(b.Sub(context.prediction, context.like_prediction()))
        near = b.Min(size, context.scalar(self.delta))
        elements = b.Mul(near, b.Sub(size, b.Mul(near, context.scalar(0.5))))
        return LossValues(context.reduce(elements, self.reduction))
