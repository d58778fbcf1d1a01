"""Which inputs repeat their elements from run to run, so that a program for these elements is worth compiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sardonyx._src.compile.program.assumptions import (
    Assumption,
    Assumptions,
    ElementsObserved,
    observe_elements,
)
from sardonyx._src.runtime.native_program import NativeProgram

MAX_ATTEMPTS = (
    4  # changes of elements, and programs compiled for elements, until a program is no longer watched
)
Observed = frozenset[Assumption]


@dataclass(frozen=True, slots=True)
class SpecializedProgram:
    """A program that computes the right outputs if its assumptions hold."""

    assumptions: Assumptions
    native: NativeProgram
    elements: tuple[ElementsObserved, ...] = ()

    def accepts(self, feeds: object) -> bool:
        """Whether feeds have the elements that the program assumes."""
        if not self.elements:
            return True
        return isinstance(feeds, dict) and all(a.is_true_of(feeds.get(a.input)) for a in self.elements)


@dataclass(frozen=True, slots=True)
class PendingRun:
    """What the last run of a program told, for which another program could be compiled.

    assumptions: of the program that ran.
    """

    assumptions: Assumptions
    observed: Observed


@dataclass(slots=True)
class ParameterWatch:
    """The programs of which elements of parameters are watched.

    attempts: for the assumptions of each program, how often elements changed or a program was compiled for them.
    """

    attempts: Counter[Assumptions] = field(default_factory=Counter)

    def is_over(self, assumptions: Assumptions) -> bool:
        """Whether the program with these assumptions is no longer watched."""
        return self.attempts[assumptions] >= MAX_ATTEMPTS

    def end(self, assumptions: Assumptions) -> None:
        self.attempts[assumptions] = MAX_ATTEMPTS

    def observe(
        self, assumptions: Assumptions, native: NativeProgram, feeds: Mapping[str, object]
    ) -> Observed:
        """The elements of the parameters of a program in this run."""
        names = native.program.parameters
        return (
            frozenset()
            if not names or self.is_over(assumptions)
            else frozenset(observe_elements(names, feeds))
        )

    def repeated(self, pending: PendingRun, feeds: Mapping[str, object]) -> Observed:
        """What a run told, without the elements that the next one changes."""
        observed = frozenset(
            a
            for a in pending.observed
            if not isinstance(a, ElementsObserved) or a.is_true_of(feeds.get(a.input))
        )
        if len(observed) < len(pending.observed):
            self.attempts[pending.assumptions] += 1
        return observed
