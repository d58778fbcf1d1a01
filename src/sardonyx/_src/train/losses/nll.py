"""Negative log likelihood, for predictions that are logarithms of class probabilities.

Spec: ai.onnx NegativeLogLikelihoodLoss-13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sardonyx._src.arguments import require_integer
from sardonyx._src.train.losses.base import (
    INT64_RANGE,
    Loss,
    LossContext,
    LossValues,
    Reduction,
    check_reduction,
    check_weights,
)
from sardonyx._src.train.losses.classification import class_scores, share_of_right
from sardonyx._src.train.losses.cross_entropy import CrossEntropy


@dataclass(frozen=True)
class NLL(Loss):
    """Minus the prediction at the label, `-w[t] x[t]`, for a prediction of log probabilities; parameters as `CrossEntropy`."""

    weights: Sequence[float] | None = None
    ignore_index: int | None = None
    reduction: Reduction = "mean"
    axis: int = 1
    links: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_reduction(self.reduction)
        require_integer("ignore_index", self.ignore_index, *INT64_RANGE, optional=True)
        require_integer("axis", self.axis)
        check_weights("weights", self.weights)

    def build(self, context: LossContext) -> LossValues:
        data = class_scores(context, self.axis, self.ignore_index)
        weights = CrossEntropy(self.weights, axis=self.axis).class_weights(context)
        loss = context.b.NegativeLogLikelihoodLoss(
            data.scores, data.labels, weights, reduction=self.reduction, ignore_index=self.ignore_index
        )
        return LossValues(loss, share_of_right(context, data, self.ignore_index))
