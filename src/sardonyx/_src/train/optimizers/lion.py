"""Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.ir import Value
from sardonyx._src.train.optimizers.adam import check_betas
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Lion(Optimizer):
    """`p' = p - rate (sign(b1 m + (1 - b1) g) + decay p)`, then `m' = b2 m + (1 - b2) g`; betas: b1 and b2."""

    rate: float | Schedule = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_betas(self.betas)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        return {p: self.update(step, p) for p in parameters}

    def update(self, step: OptimizerStep, p: TrainedTensor) -> Value:
        b = step.b
        mean = step.state(p, "mean")
        direction = b.Sign(step.average(mean, p.gradient, self.betas[0], p.dtype))
        step.assign(mean, step.average(mean, p.gradient, self.betas[1], p.dtype))
        return b.Sub(step.shrunk_value(p), b.Mul(direction, step.rate_as(p.dtype)))
