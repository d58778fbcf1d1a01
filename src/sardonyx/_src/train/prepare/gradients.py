"""From a loss to the gradients that an optimizer uses: Gradient node, loss scale, accumulation and clipping."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.detection import DOMAIN
from sardonyx._src.ir import Tensor, Value
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.schedules import check_steps

NORM_EPSILON = 1e-6  # as in PyTorch's clip_grad_norm_


@dataclass(frozen=True, slots=True)
class LossScale:
    """A factor of the loss that keeps gradients in half precision from underflowing (Micikevicius et al., 2018).

    A step with a gradient that is not finite changes no parameter and multiplies the factor by `backoff`.  After `interval`
    updates in a row without such a step, the factor is multiplied by `growth`.
    """

    initial: float = 65536.0
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000

    def __post_init__(self) -> None:
        check_number("initial", self.initial, 0, math.inf, open_low=True)
        check_number("growth", self.growth, 1, math.inf)
        check_number("backoff", self.backoff, 0, 1, open_low=True)
        check_steps("interval", self.interval)


@dataclass(slots=True)
class StepControl:
    """Decides whether a training step updates parameters.

    states: state variables with their new values.
    apply: whether this step updates, a bool scalar; None if every step does.
    """

    b: AlgorithmBuilder
    states: dict[Value, Value]
    apply: Value | None = None

    def new_state(self, name: str, initial: object, dtype: DataType) -> Value:
        return self.b.new_constant(name, Tensor.of(np.asarray(initial), dtype))

    def only_if_applied(self, new: Value, old: Value) -> Value:
        """The new value of a state in steps that update, the old one in others."""
        return new if self.apply is None else self.b.Where(self.apply, new, old)

    def require(self, condition: Value) -> None:
        """Adds a condition for an update."""
        self.apply = condition if self.apply is None else self.b.And(self.apply, condition)


def add_gradients(
    b: AlgorithmBuilder, loss: Value, parameters: Sequence[Value], others: Sequence[Value]
) -> list[Value]:
    """The gradients of a loss with respect to parameters, by one Gradient node.

    others: the other values that the loss depends on, the `zs` of the node.
    """
    variables = [*parameters, *others]
    node = b.node(
        "Gradient",
        variables,
        len(parameters),
        domain=DOMAIN,
        xs=[v.name for v in parameters],
        zs=[v.name for v in others] or None,
        y=loss.name,
    )
    return list(node.outputs)


def accumulate_gradients(
    control: StepControl,
    gradients: Sequence[Value],
    types: Sequence[tuple[DataType, tuple[int, ...]]],
    count: int,
) -> list[Value]:
    """The means of the gradients of `count` steps; the last of them updates the parameters."""
    if count == 1:
        return list(gradients)
    b = control.b
    position = control.new_state("train_minibatch", 0, DataType.INT64)
    following = b.Add(position, b.scalar(1, DataType.INT64))
    is_last = b.Equal(following, b.scalar(count, DataType.INT64))
    control.states[position] = b.Where(is_last, b.scalar(0, DataType.INT64), following)
    control.require(is_last)
    means = []
    for gradient, (dtype, shape) in zip(gradients, types, strict=True):
        total = control.new_state("train_gradient_sum", np.zeros(shape), dtype)
        new = b.Add(total, gradient)
        control.states[total] = b.Where(is_last, b.scalar(0, dtype), new)
        means.append(b.Mul(new, b.scalar(1 / count, dtype)))
    return means


def adapt_scale(
    control: StepControl,
    scale: Value,
    rule: LossScale,
    gradients: Sequence[Value],
    dtypes: Sequence[DataType],
) -> None:
    """Updates a loss scale, and makes updates depend on finite gradients."""
    b = control.b
    sums = [
        b.cast(b.ReduceSum(b.Abs(g), keepdims=0), dtype, DataType.FLOAT)
        for g, dtype in zip(gradients, dtypes, strict=True)
    ]
    is_finite = b.Less(b.Sum(*sums), b.scalar(math.inf))
    ends = control.apply  # whether all minibatches of an update are accumulated; the scale changes only then
    streak = control.new_state("train_finite_updates", 0, DataType.INT64)
    longer = b.Add(streak, b.scalar(1, DataType.INT64))
    is_long = b.Equal(longer, b.scalar(rule.interval, DataType.INT64))
    zero = b.scalar(0, DataType.INT64)
    new_streak = b.Where(is_finite, b.Where(is_long, zero, longer), zero)
    grown = b.Where(is_long, b.Mul(scale, b.scalar(rule.growth)), scale)
    new_scale = b.Where(is_finite, grown, b.Mul(scale, b.scalar(rule.backoff)))
    control.states[streak] = new_streak if ends is None else b.Where(ends, new_streak, streak)
    control.states[scale] = new_scale if ends is None else b.Where(ends, new_scale, scale)
    control.require(is_finite)


def clip_by_norm(
    b: AlgorithmBuilder, gradients: Sequence[Value], dtypes: Sequence[DataType], limit: float
) -> list[Value]:
    """The gradients, scaled down together where their common norm is larger than `limit` (Pascanu et al., 2013)."""
    squares = [
        b.cast(b.ReduceSum(b.Mul(g, g), keepdims=0), dtype, DataType.FLOAT)
        for g, dtype in zip(gradients, dtypes, strict=True)
    ]
    norm = b.Sqrt(b.Sum(*squares))
    factor = b.Min(b.Div(b.scalar(limit), b.Add(norm, b.scalar(NORM_EPSILON))), b.scalar(1))
    return [
        b.Mul(g, b.cast(factor, DataType.FLOAT, dtype)) for g, dtype in zip(gradients, dtypes, strict=True)
    ]


def clip_by_value(
    b: AlgorithmBuilder, gradients: Sequence[Value], dtypes: Sequence[DataType], limit: float
) -> list[Value]:
    """The gradients with each element clamped to the range from -limit to limit."""
    return [
        b.Clip(g, b.scalar(-limit, dtype), b.scalar(limit, dtype))
        for g, dtype in zip(gradients, dtypes, strict=True)
    ]
