"""RMSProp (Tieleman and Hinton, lecture 6.5 of "Neural Networks for Machine Learning", 2012; centered: Graves, 2013)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.arguments import require_flag
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class RMSProp(Optimizer):
    """`v' = a v + (1 - a) g^2`, then `p' = p - rate g / (sqrt(v') + epsilon)`.

    g is the gradient with weight decay added.
    smoothing: a.
    momentum: m; if it is not 0, `u' = m u + g / (sqrt(v') + epsilon)`, then `p' = p - rate u'`.
    centred: whether v' is replaced by the variance `v' - w'^2`, where w is the moving average of g.
    """

    rate: float | Schedule = 1e-2
    smoothing: float = 0.99
    epsilon: float = 1e-8
    momentum: float = 0.0
    centred: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag("centred", self.centred)
        check_number("smoothing", self.smoothing, 0, 1)
        check_number("momentum", self.momentum, 0, 1)
        check_number("epsilon", self.epsilon, 0, math.inf)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        return {p: self.update(step, p) for p in parameters}

    def update(self, step: OptimizerStep, p: TrainedTensor) -> Value:
        b, gradient = step.b, step.decayed_gradient(p)
        variance = step.state(p, "variance")
        spread = step.assign(
            variance, step.average(variance, b.Mul(gradient, gradient), self.smoothing, p.dtype)
        )
        if self.centred:
            mean = step.state(p, "mean")
            new_mean = step.assign(mean, step.average(mean, gradient, self.smoothing, p.dtype))
            spread = b.Sub(spread, b.Mul(new_mean, new_mean))
        direction = b.Div(gradient, b.Add(b.Sqrt(spread), b.scalar(self.epsilon, p.dtype)))
        if self.momentum:
            velocity = step.state(p, "velocity")
            moved = b.Add(b.Mul(velocity, b.scalar(self.momentum, p.dtype)), direction)
            direction = step.assign(velocity, moved)
        return b.Sub(p.value, b.Mul(direction, step.rate_as(p.dtype)))
