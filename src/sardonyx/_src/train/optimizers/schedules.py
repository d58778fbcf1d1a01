"""Schedules: learning rates as functions of the number of updates so far, computed by the training step itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from sardonyx._src.arguments import require_integer
from sardonyx._src.ir import Value
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder
from sardonyx._src.train.losses.base import check_number


class Schedule(ABC):
    """A learning rate that changes with the number of updates."""

    @abstractmethod
    def build(self, b: AlgorithmBuilder, updates: Value) -> Value:
        """Adds nodes that compute the rate; updates: the number of updates before this one.  Both are float32 scalars."""


MAX_STEPS = (1 << 63) - 1


@dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """The same rate in every update."""

    rate: float

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0, math.inf)

    def build(self, b: AlgorithmBuilder, updates: Value) -> Value:
        return b.scalar(self.rate)


@dataclass(frozen=True)
class CosineSchedule(Schedule):
    """Half a cosine from `rate` to `final` in `steps` updates, then `final` (Loshchilov and Hutter, "SGDR", 2017)."""

    rate: float
    steps: int
    final: float = 0.0

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0, math.inf)
        check_number("final", self.final, 0, math.inf)
        check_steps("steps", self.steps)

    def build(self, b: AlgorithmBuilder, updates: Value) -> Value:
        share = b.Min(b.Mul(updates, b.scalar(1 / self.steps)), b.scalar(1))
        wave = b.Add(b.Cos(b.Mul(share, b.scalar(math.pi))), b.scalar(1))
        return b.Add(b.Mul(wave, b.scalar((self.rate - self.final) / 2)), b.scalar(self.final))


@dataclass(frozen=True)
class StepSchedule(Schedule):
    """`rate`, multiplied by `factor` after every `every` updates."""

    rate: float
    every: int
    factor: float = 0.1

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0, math.inf)
        check_number("factor", self.factor, 0, math.inf, open_low=True)
        check_steps("every", self.every)

    def build(self, b: AlgorithmBuilder, updates: Value) -> Value:
        count = b.Floor(b.Div(updates, b.scalar(self.every)))
        return b.Mul(b.Pow(b.scalar(self.factor), count), b.scalar(self.rate))


@dataclass(frozen=True)
class WarmUp(Schedule):
    """A linear rise for `steps` updates, then the schedule `after`.

    In update t < steps, counted from 0, the rate is `(t + 1) / steps` of the first rate of `after`.
    """

    steps: int
    after: Schedule | float

    def __post_init__(self) -> None:
        check_steps("steps", self.steps)
        schedule_of(self.after)

    def build(self, b: AlgorithmBuilder, updates: Value) -> Value:
        since = b.Max(b.Sub(updates, b.scalar(self.steps)), b.scalar(0))
        share = b.Mul(b.Add(updates, b.scalar(1)), b.scalar(1 / self.steps))
        return b.Mul(schedule_of(self.after).build(b, since), b.Min(share, b.scalar(1)))


def schedule_of(rate: Schedule | float) -> Schedule:
    """A schedule, or the constant one of a number; raises TypeError for anything else."""
    return rate if isinstance(rate, Schedule) else ConstantSchedule(rate)


def check_steps(name: str, steps: int) -> None:
    """Raises TypeError unless a number of steps is an integer, and InputError unless it is at least 1."""
    require_integer(name, steps, 1)
    require_integer(name, steps, high=MAX_STEPS)
