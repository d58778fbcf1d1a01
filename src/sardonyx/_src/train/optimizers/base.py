"""The interface of optimizers: `Optimizer`, and the training step as it sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Tensor, Value
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.optimizers.schedules import Schedule, schedule_of


@dataclass(frozen=True, slots=True)
class TrainedTensor:
    """A trained tensor and its gradient, both float32 or float64, of one shape.

    name: the name of the initializer of the inference graph.
    value: the initializer, or its float32 master copy if the initializer has half precision.
    """

    name: str
    value: Value
    gradient: Value
    dtype: DataType
    shape: tuple[int, ...]


@dataclass(slots=True)
class OptimizerStep:
    """One update of a group of parameters: rates, state, and the builder of its nodes.

    b: the builder of the training step.
    updates: the number of updates before this one, an int64 scalar.
    rate: the learning rate of the group, a float32 scalar.
    weight_decay: the weight decay of the group.
    states: the state variables with their new values, in the order in which they were added.
    """

    b: AlgorithmBuilder
    updates: Value
    rate: Value
    weight_decay: float
    states: dict[Value, Value] = field(default_factory=dict)
    _rates: dict[DataType, Value] = field(default_factory=dict)

    def rate_as(self, dtype: DataType) -> Value:
        """The learning rate, converted to an element type."""
        if dtype not in self._rates:
            self._rates[dtype] = self.b.cast(self.rate, DataType.FLOAT, dtype)
        return self._rates[dtype]

    def state(self, parameter: TrainedTensor, name: str) -> Value:
        """A new state variable that is zero at first, of the type and shape of a parameter."""
        zeros = Tensor.of(np.zeros(parameter.shape, parameter.dtype.numpy))
        return self.b.new_constant(f"{parameter.name}_{name}", zeros)

    def scalar_state(self, name: str, initial: float = 0, dtype: DataType = DataType.FLOAT) -> Value:
        """A new state variable that is a scalar."""
        return self.b.new_constant(f"train_{name}", Tensor.of(np.asarray(initial), dtype))

    def assign(self, state: Value, new: Value) -> Value:
        """Makes `new` the next value of a state variable, and returns it."""
        self.states[state] = new
        return new

    def decayed_gradient(self, parameter: TrainedTensor) -> Value:
        """The gradient of the loss with weight decay as a penalty: `g + decay * p`."""
        if not self.weight_decay:
            return parameter.gradient
        decay = self.b.scalar(self.weight_decay, parameter.dtype)
        return self.b.Add(parameter.gradient, self.b.Mul(parameter.value, decay))

    def shrunk_value(self, parameter: TrainedTensor) -> Value:
        """The parameter with decoupled weight decay: `p (1 - rate * decay)`."""
        if not self.weight_decay:
            return parameter.value
        b, dtype = self.b, parameter.dtype
        loss = b.Mul(self.rate_as(dtype), b.scalar(self.weight_decay, dtype))
        return b.Mul(parameter.value, b.Sub(b.scalar(1, dtype), loss))

    def average(self, old: Value, new: Value, share: float, dtype: DataType) -> Value:
        """The exponential moving average `share * old + (1 - share) * new`.

        Both factors are rounded to the element type such that they add up to exactly 1.
        """
        b = self.b
        return b.Add(b.Mul(old, b.scalar(share, dtype)), b.Mul(new, b.scalar(rest_of(share, dtype), dtype)))


def rest_of(share: float, dtype: DataType) -> float:
    """1 - share, computed with the share as it is after rounding to an element type."""
    return 1.0 - float(np.asarray(share).astype(dtype.numpy))


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """A rule that computes new values of parameters from their gradients.

    rate: the learning rate, a number or a schedule.
    weight_decay: the weight decay of all parameters whose group states no other one.
    """

    rate: float | Schedule = 1e-3
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        schedule_of(self.rate)
        check_number("weight_decay", self.weight_decay, 0, float("inf"))

    @abstractmethod
    def build(
        self, step: OptimizerStep, parameters: Sequence[TrainedTensor]
    ) -> Mapping[TrainedTensor, Value]:
        """Adds the nodes and the states of an update; returns the new value of each parameter."""
