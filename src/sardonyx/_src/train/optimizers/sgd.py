"""Stochastic gradient descent (Robbins and Monro, "A Stochastic Approximation Method", 1951)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.ir import Value
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class SGD(Optimizer):
    """`p' = p - rate (g + decay p)`."""

    rate: float | Schedule = 1e-2

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        b = step.b
        return {p: b.Sub(p.value, b.Mul(step.decayed_gradient(p), step.rate_as(p.dtype))) for p in parameters}
