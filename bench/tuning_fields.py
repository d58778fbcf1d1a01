"""A sweep of `tuning.py`: a field of the tables of `compile/kernels/tuning`, and the kernels by which its values are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest.mock import patch

from sardonyx._src.compile.kernels import tuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Step
from tuning_model import at_least, nearest

Workload = Callable[[], Sequence[Step]]


@dataclass(frozen=True)
class Sweep:
    """A field, the values that are measured, and the steps that depend on it, by name.

    key: the entry of a field that is a mapping, such as the vectors of `tile_rows`.
    ideal: what analysis gives for the workloads (`tuning_model.py`); None where it says nothing.
    rounds_up: whether the model is the next value from the ideal one on, not the nearest.
    """

    family: str
    field: str
    values: tuple[float, ...]
    workloads: Mapping[str, Workload]
    key: int | None = None
    ideal: Mapping[str, float] | None = None
    rounds_up: bool = False

    @property
    def name(self) -> str:
        suffix = "" if self.key is None else f"[{self.key}]"
        return f"{self.family}.{self.field}{suffix}"

    @property
    def value(self) -> float:
        """The value in the table of this machine."""
        value = getattr(family_of(self.family), self.field)
        number: float = value if self.key is None else value[self.key]
        return number

    def model(self, workload: str) -> float | None:
        """The value of analysis among those that are measured."""
        if self.ideal is None:
            return None
        choose = at_least if self.rounds_up else nearest
        return choose(sorted({*self.values, self.value}), self.ideal[workload])

    def set_value(self, value: float) -> AbstractContextManager[object]:
        """A context in which kernels are emitted with another value of the field."""
        table, family = tuning.tuning_for(host_target()), family_of(self.family)
        if self.field not in {field.name for field in fields(family)}:  # a class variable
            return patch.object(type(family), self.field, value)
        entry = value if self.key is None else {**getattr(family, self.field), self.key: value}
        changed = replace(table, **{self.family: replace(family, **{self.field: entry})})
        return patch.dict(tuning.TUNINGS, {tuning.target_class(host_target()): changed})


def family_of(name: str) -> Any:  # any of the dataclasses
    """The fields of a family in the table of this machine; one whose fields are equal for all targets is in no table."""
    if name == "weight_gradient":
        return tuning.WeightGradientTuning()
    return getattr(tuning.tuning_for(host_target()), name)
