"""Thompson NFA: the states that the parser builds and the automaton simulates.

A fragment is a contiguous range of states up to the newest one, with a start state and an end state that has no
transitions yet; fragments are concatenated, alternated and copied by renumbering.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum, auto
from itertools import pairwise

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import Ranges

MAX_STATES = 200_000


class StateKind(Enum):
    EMPTY = auto()  # an epsilon transition
    CHARACTER = auto()  # reads a character of `ranges`
    BYTE = auto()  # reads one byte of the UTF-8 of a character
    BEGIN_TEXT = auto()
    END_TEXT = auto()
    BEGIN_LINE = auto()
    END_LINE = auto()
    WORD_BOUNDARY = auto()
    NO_WORD_BOUNDARY = auto()


READING = (StateKind.CHARACTER, StateKind.BYTE)


@dataclass(frozen=True, slots=True)
class State:
    kind: StateKind
    ranges: Ranges = ()
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """The states of a part of an expression.

    low: the first state
    start, end: the state at which matching the part begins, and the one at which it ends
    repeats: the largest number of copies of any of its parts
    """

    low: int
    start: int
    end: int
    repeats: int = 1


def check_state_count(states: int) -> None:
    """Raises LimitError for more than `MAX_STATES` states."""
    if states > MAX_STATES:
        raise LimitError(
            f"the pattern must need at most {MAX_STATES} states",
            limit="sardonyx._src.ops.text.re2.states.MAX_STATES",
        )


@dataclass(slots=True)
class States:
    """The states of an expression under construction, newest last."""

    all: list[State] = field(default_factory=list)

    def add(self, kind: StateKind, ranges: Ranges = ()) -> int:
        check_state_count(len(self.all) + 1)
        self.all.append(State(kind, ranges))
        return len(self.all) - 1

    def lead(self, source: int, *targets: int) -> None:
        """Add transitions from a state."""
        state = self.all[source]
        self.all[source] = replace(state, targets=state.targets + targets)

    def single(self, kind: StateKind, ranges: Ranges = ()) -> Fragment:
        start = self.add(kind, ranges)
        if kind is StateKind.EMPTY:
            return Fragment(start, start, start)
        end = self.add(StateKind.EMPTY)
        self.lead(start, end)
        return Fragment(start, start, end)

    def concatenate(self, parts: list[Fragment]) -> Fragment:
        """The concatenation of fragments."""
        if not parts:
            return self.single(StateKind.EMPTY)
        for left, right in pairwise(parts):
            self.lead(left.end, right.start)
        return Fragment(parts[0].low, parts[0].start, parts[-1].end, max(p.repeats for p in parts))

    def alternate(self, parts: list[Fragment]) -> Fragment:
        """The alternation of fragments."""
        if len(parts) == 1:
            return parts[0]
        start, end = self.add(StateKind.EMPTY), self.add(StateKind.EMPTY)
        self.lead(start, *(p.start for p in parts))
        for part in parts:
            self.lead(part.end, end)
        return Fragment(parts[0].low, start, end, max(p.repeats for p in parts))

    def optional(self, part: Fragment) -> Fragment:
        start, end = self.add(StateKind.EMPTY), self.add(StateKind.EMPTY)
        self.lead(start, part.start, end)
        self.lead(part.end, end)
        return Fragment(part.low, start, end, part.repeats)

    def star(self, part: Fragment) -> Fragment:
        """Zero or more repetitions."""
        loop = self.add(StateKind.EMPTY)
        end = self.add(StateKind.EMPTY)
        self.lead(loop, part.start, end)
        self.lead(part.end, loop)
        return Fragment(part.low, loop, end, part.repeats)

    def plus(self, part: Fragment) -> Fragment:
        """One or more repetitions."""
        loop, end = self.add(StateKind.EMPTY), self.add(StateKind.EMPTY)
        self.lead(part.end, loop)
        self.lead(loop, part.start, end)
        return Fragment(part.low, part.start, end, part.repeats)

    def repeat(self, part: Fragment, minimum: int, maximum: int | None) -> Fragment:
        """The newest fragment repeated `minimum` to `maximum` times (None: unbounded)."""
        if maximum is None and minimum == 0:
            return self.star(part)
        pattern = self.all[part.low :]
        del self.all[part.low :]
        times = minimum if maximum is None else maximum
        copies = []
        for i in range(times):
            copy = self.copy_states(pattern, part)
            if maximum is None and i == times - 1:
                copy = self.plus(copy)
            copies.append(copy if i < minimum else self.optional(copy))
        return replace(self.concatenate(copies), repeats=part.repeats * max(1, times))

    def copy_states(self, pattern: list[State], part: Fragment) -> Fragment:
        check_state_count(len(self.all) + len(pattern))
        shift = len(self.all) - part.low
        self.all.extend(replace(s, targets=tuple(w + shift for w in s.targets)) for s in pattern)
        return Fragment(part.low + shift, part.start + shift, part.end + shift, part.repeats)
