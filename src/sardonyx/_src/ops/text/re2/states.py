"""Regular expressions as states: what a parser builds and an automaton walks through.

A fragment is everything from one state to the newest one, with a state to start from and one, without ways out yet, to
end in; fragments can so be joined, branched and copied by moving numbers (Thompson's construction).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import pairwise

from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import Ranges

MOST_STATES = 200_000


class Kind(Enum):
    EMPTY = auto()  # leads on without reading
    CHARACTER = auto()  # reads a character of `ranges`
    BYTE = auto()  # reads one byte of a character's UTF-8
    BEGIN_TEXT = auto()
    END_TEXT = auto()
    BEGIN_LINE = auto()
    END_LINE = auto()
    WORD_BOUNDARY = auto()
    NO_WORD_BOUNDARY = auto()


READING = (Kind.CHARACTER, Kind.BYTE)


@dataclass(frozen=True, slots=True)
class State:
    kind: Kind
    ranges: Ranges = ()
    ways: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """low: its first state; start, end: where it is entered and left; repeats: how often a part of it may be copied."""

    low: int
    start: int
    end: int
    repeats: int = 1


def refuse_size(states: int) -> None:
    """Raises LimitError for more states than any sensible expression has."""
    if states > MOST_STATES:
        raise LimitError(
            f"the pattern needs more than {MOST_STATES} states",
            limit="sardonyx._src.ops.text.re2.states.MOST_STATES",
        )


@dataclass(slots=True)
class States:
    """The states of one expression while it is built, newest last."""

    all: list[State] = field(default_factory=list)

    def add(self, kind: Kind, ranges: Ranges = ()) -> int:
        refuse_size(len(self.all) + 1)
        self.all.append(State(kind, ranges))
        return len(self.all) - 1

    def lead(self, source: int, *targets: int) -> None:
        state = self.all[source]
        self.all[source] = replace(state, ways=state.ways + targets)

    def single(self, kind: Kind, ranges: Ranges = ()) -> Fragment:
        start = self.add(kind, ranges)
        if kind is Kind.EMPTY:
            return Fragment(start, start, start)
        end = self.add(Kind.EMPTY)
        self.lead(start, end)
        return Fragment(start, start, end)

    def joined(self, parts: list[Fragment]) -> Fragment:
        """One after the other."""
        if not parts:
            return self.single(Kind.EMPTY)
        for one, other in pairwise(parts):
            self.lead(one.end, other.start)
        return Fragment(parts[0].low, parts[0].start, parts[-1].end, max(p.repeats for p in parts))

    def branched(self, parts: list[Fragment]) -> Fragment:
        """One of them."""
        if len(parts) == 1:
            return parts[0]
        start, end = self.add(Kind.EMPTY), self.add(Kind.EMPTY)
        self.lead(start, *(p.start for p in parts))
        for part in parts:
            self.lead(part.end, end)
        return Fragment(parts[0].low, start, end, max(p.repeats for p in parts))

    def optional(self, part: Fragment) -> Fragment:
        start, end = self.add(Kind.EMPTY), self.add(Kind.EMPTY)
        self.lead(start, part.start, end)
        self.lead(part.end, end)
        return Fragment(part.low, start, end, part.repeats)

    def starred(self, part: Fragment) -> Fragment:
        """Any number of times."""
        around = self.add(Kind.EMPTY)
        end = self.add(Kind.EMPTY)
        self.lead(around, part.start, end)
        self.lead(part.end, around)
        return Fragment(part.low, around, end, part.repeats)

    def plussed(self, part: Fragment) -> Fragment:
        """At least once."""
        again, end = self.add(Kind.EMPTY), self.add(Kind.EMPTY)
        self.lead(part.end, again)
        self.lead(again, part.start, end)
        return Fragment(part.low, part.start, end, part.repeats)

    def repeated(self, part: Fragment, least: int, most: int | None) -> Fragment:
        """The newest fragment `least` to `most` times; None: any number."""
        if most is None and least == 0:
            return self.starred(part)
        pattern = self.all[part.low :]
        del self.all[part.low :]
        times = least if most is None else most
        copies = []
        for i in range(times):
            copy = self.copied(pattern, part)
            if most is None and i == times - 1:
                copy = self.plussed(copy)
            copies.append(copy if i < least else self.optional(copy))
        return replace(self.joined(copies), repeats=part.repeats * max(1, times))

    def copied(self, pattern: list[State], part: Fragment) -> Fragment:
        refuse_size(len(self.all) + len(pattern))
        shift = len(self.all) - part.low
        self.all.extend(replace(s, ways=tuple(w + shift for w in s.ways)) for s in pattern)
        return Fragment(part.low + shift, part.start + shift, part.end + shift, part.repeats)
