"""Gradient descent with momentum (Polyak, 1964), and with Nesterov's (Sutskever et al., 2013).

Spec: ai.onnx.preview.training Momentum-1, with beta 1 and the modes "standard" and "nesterov".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sardonyx._src.arguments import require_flag
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.preview_operators import preview_update
from sardonyx._src.train.optimizers.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Momentum(Optimizer):
    """`v' = m v + g + decay p`, then `p' = p - rate v'`.

    momentum: m.
    as_operator: whether the update is one Momentum node of ai.onnx.preview.training instead of standard operators.
    """

    rate: float | Schedule = 1e-2
    momentum: float = 0.9
    as_operator: bool = False
    mode: ClassVar[str] = "standard"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag("as_operator", self.as_operator)
        check_number("momentum", self.momentum, 0, 1)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        if self.as_operator:
            return preview_update(
                step,
                "Momentum",
                parameters,
                ["velocity"],
                alpha=float(self.momentum),
                beta=1.0,
                mode=self.mode,
                norm_coefficient=float(step.weight_decay),
            )
        return {p: self.update(step, p) for p in parameters}

    def update(self, step: OptimizerStep, p: TrainedTensor) -> Value:
        b, m = step.b, step.b.scalar(self.momentum, p.dtype)
        gradient = step.decayed_gradient(p)
        velocity = step.state(p, "velocity")
        new = step.assign(velocity, b.Add(b.Mul(velocity, m), gradient))
        direction = b.Add(gradient, b.Mul(new, m)) if self.mode == "nesterov" else new
        return b.Sub(p.value, b.Mul(direction, step.rate_as(p.dtype)))


@dataclass(frozen=True, kw_only=True)
class Nesterov(Momentum):
    """`v' = m v + g + decay p`, then `p' = p - rate (g + decay p + m v')`; parameters as `Momentum`."""

    mode: ClassVar[str] = "nesterov"
