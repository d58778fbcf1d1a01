"""A specialized program with its assumptions, and how feeds and outputs of a run confirm or refute these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sardonyx._src.compile.program.steps.assumptions import (
    MAX_PARAMETER_ELEMENTS,
    Assumption,
    Assumptions,
    ElementsObserved,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.runs.native_program import NativeProgram

Observed = frozenset[Assumption]


@dataclass(frozen=True, slots=True)
class SpecializedProgram:
    """A program that computes the right outputs if its assumptions hold.

    elements: the assumptions about elements of fed parameters.
    """

    assumptions: Assumptions
    native: NativeProgram
    elements: tuple[ElementsObserved, ...] = ()

    def accepts(self, feeds: object) -> bool:
        """Whether feeds have the elements that the program assumes."""
        if not self.elements:
            return True
        return isinstance(feeds, dict) and all(a.is_true_of(feeds.get(a.input)) for a in self.elements)


def observe_elements(native: NativeProgram, feeds: Mapping[str, object]) -> Iterator[ElementsObserved]:
    """The elements of a program's parameters in a run, as far as they are small arrays of numbers."""
    for name in native.program.parameters:
        array = feeds.get(name)
        if (
            isinstance(array, np.ndarray)
            and array.dtype.kind in "biuf"
            and array.size <= MAX_PARAMETER_ELEMENTS
        ):
            yield ElementsObserved.of(name, array)


def take_conditions(native: NativeProgram, outputs: dict[str, RuntimeValue]) -> str:
    """Removes the conditions of branches from the outputs; returns the first assumption that they refute, or "".

    A specialized program has the condition of each assumed branch as an additional output.
    """
    failed = ""
    for name, branch in native.program.assumed_branches.items():
        if bool(np.all(np.asarray(outputs.pop(name)))) is not branch.is_then:
            failed = failed or str(branch)
    return failed
