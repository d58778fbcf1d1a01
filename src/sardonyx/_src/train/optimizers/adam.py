"""Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1).

Spec: ai.onnx.preview.training Adam-1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.arguments import require_flag, require_type
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Value
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor, rest_of
from sardonyx._src.train.optimizers.preview_operators import preview_update


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """`p' = p - rate m^ / (sqrt(v^) + epsilon)`, with bias-corrected moving averages m^ and v^.

    m is the average of the gradient, to which weight decay is added, and v the average of its square.
    betas: the shares of m and v that an update keeps.
    as_operator: whether the update is one Adam node of ai.onnx.preview.training, which adds epsilon to sqrt(v) before the
        bias correction, as the second form in the paper does.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    as_operator: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag("as_operator", self.as_operator)
        check_betas(self.betas)
        check_number("epsilon", self.epsilon, 0, math.inf)

    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        if self.as_operator:
            count = step.b.Add(step.updates, step.b.scalar(1, DataType.INT64))
            return preview_update(
                step,
                "Adam",
                parameters,
                ["mean", "variance"],
                updates=count,
                alpha=float(self.betas[0]),
                beta=float(self.betas[1]),
                epsilon=float(self.epsilon),
                norm_coefficient=float(step.weight_decay),
                norm_coefficient_post=0.0,
            )
        corrections = BiasCorrections(step, self.betas)
        return {
            p: adam_update(step, p, p.value, step.decayed_gradient(p), corrections, self.epsilon)
            for p in parameters
        }


class BiasCorrections:
    """The divisors `1 - beta^t` of both averages after t updates, computed once for each element type.

    They are states with the recurrence of the averages themselves, so that they have the same rounding errors.
    """

    def __init__(self, step: OptimizerStep, betas: tuple[float, float]) -> None:
        self.step, self.betas = step, betas
        self._values: dict[DataType, tuple[Value, Value]] = {}

    def of(self, dtype: DataType) -> tuple[Value, Value]:
        """rate / (1 - beta1^t), and 1 / sqrt(1 - beta2^t), after this update."""
        if dtype not in self._values:
            b = self.step.b
            first, second = (self.next(number, beta, dtype) for number, beta in enumerate(self.betas, 1))
            self._values[dtype] = (
                b.Div(self.step.rate_as(dtype), first),
                b.Reciprocal(b.Sqrt(second)),
            )
        return self._values[dtype]

    def next(self, number: int, beta: float, dtype: DataType) -> Value:
        b = self.step.b
        state = self.step.scalar_state(f"bias_correction{number}", 0, dtype)
        new = b.Add(b.Mul(state, b.scalar(beta, dtype)), b.scalar(rest_of(beta, dtype), dtype))
        return self.step.assign(state, new)


def adam_update(
    step: OptimizerStep,
    p: TrainedTensor,
    value: Value,
    gradient: Value,
    corrections: BiasCorrections,
    epsilon: float,
) -> Value:
    """The new value of a parameter: `value - rate m^ / (sqrt(v^) + epsilon)`."""
    b = step.b
    beta1, beta2 = corrections.betas
    rate, root = corrections.of(p.dtype)
    mean, variance = step.state(p, "mean"), step.state(p, "variance")
    new_mean = step.assign(mean, step.average(mean, gradient, beta1, p.dtype))
    new_variance = step.assign(variance, step.average(variance, b.Mul(gradient, gradient), beta2, p.dtype))
    divisor = b.Add(b.Mul(b.Sqrt(new_variance), root), b.scalar(epsilon, p.dtype))
    return b.Sub(value, b.Mul(b.Div(new_mean, divisor), rate))


def check_betas(betas: object) -> None:
    """Raises InputError unless betas are two numbers in [0, 1)."""
    require_type("betas", betas, tuple, "two numbers")
    assert isinstance(betas, tuple), "the type was checked"
    if len(betas) != 2:
        raise InputError(f"betas must be two numbers; got {len(betas)}", name="betas")
    for beta in betas:
        check_number("betas", beta, 0, 1 - 1e-6)
