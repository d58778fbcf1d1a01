"""Adagrad (Duchi, Hazan and Singer, "Adaptive Subgradient Methods", 2011).

Spec: ai.onnx.preview.training Adagrad-1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.arguments import require_flag
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.preview_operators import preview_update
from sardonyx._src.train.optimizers.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Adagrad(Optimizer):
    """`h' = h + g^2`, then `p' = p - rate / (1 + t * rate_decay) * g / (sqrt(h') + epsilon)`.

    p is a parameter, g its gradient with weight decay added, and t the number of updates before this one.
    as_operator: whether the update is one Adagrad node of ai.onnx.preview.training instead of standard operators.
    """

    rate: float | Schedule = 1e-2
    rate_decay: float = 0.0
    epsilon: float = 1e-10
    as_operator: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag("as_operator", self.as_operator)
        check_number("rate_decay", self.rate_decay, 0, math.inf)
        check_number("epsilon", self.epsilon, 0, math.inf)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        if self.as_operator:
            return preview_update(
                step,
                "Adagrad",
                parameters,
                ["squares"],
                decay_factor=float(self.rate_decay),
                epsilon=float(self.epsilon),
                norm_coefficient=float(step.weight_decay),
            )
        rate = step.rate
        if self.rate_decay:
            b = step.b
            count = b.Cast(step.updates, to=DataType.FLOAT)
            rate = b.Div(rate, b.Add(b.Mul(count, b.scalar(self.rate_decay)), b.scalar(1)))
        return {p: self.update(step, p, rate) for p in parameters}

    def update(self, step: OptimizerStep, p: TrainedTensor, rate: Value) -> Value:
        b, gradient = step.b, step.decayed_gradient(p)
        squares = step.state(p, "squares")
        new = step.assign(squares, b.Add(squares, b.Mul(gradient, gradient)))
        divisor = b.Add(b.Sqrt(new), b.scalar(self.epsilon, p.dtype))
        return b.Sub(p.value, b.Mul(b.Div(gradient, divisor), b.cast(rate, DataType.FLOAT, p.dtype)))
