"""AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.adam import BiasCorrections, adam_update, check_betas
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor


@dataclass(frozen=True, kw_only=True)
class AdamW(Optimizer):
    """`p' = p (1 - rate decay) - rate m^ / (sqrt(v^) + epsilon)`, with the averages of `Adam`."""

    weight_decay: float = 1e-2
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_betas(self.betas)
        check_number("epsilon", self.epsilon, 0, math.inf)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        corrections = BiasCorrections(step, self.betas)
        return {
            p: adam_update(step, p, step.shrunk_value(p), p.gradient, corrections, self.epsilon)
            for p in parameters
        }
