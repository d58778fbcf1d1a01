"""Matching in linear time: sets of states that the expression may be in, made as they are met.

Characters that all states treat alike have one number; the next set of states is remembered for each such number.
Anchors depend on what stands before and behind, so they are decided when the next character is known.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import LAST, SURROGATES, WORD, Ranges, contains
from sardonyx._src.ops.text.re2.parser import Parser
from sardonyx._src.ops.text.re2.states import READING, Kind, State

EDGE, NEWLINE, WORDLIKE, OTHER = range(4)  # what stands on one side of a place: the text's end or a character
MOST_REMEMBERED = 1_000_000  # states of sets, and ways between sets, at once
MOST_RANGES = 1_000_000  # of all sets of characters in one expression
WIDTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST))  # by bytes of UTF-8
DEAD = -1


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern, ready to be matched.

    cuts: where characters begin that are treated otherwise than those before; masks: for each state the numbers of
    characters that it reads, as bits; sides and widths: by number of character.
    """

    states: tuple[State, ...]
    start: int
    end: int
    cuts: tuple[int, ...]
    masks: tuple[int, ...]
    sides: tuple[int, ...]
    widths: tuple[int, ...]


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Expression:
    """Raises EvaluationError for a pattern that RE2 would refuse, LimitError for one that is too large."""
    parser = Parser(pattern)
    fragment = parser.parse()
    states = tuple(parser.states.all)
    anchored = any(s.kind not in (*READING, Kind.EMPTY) for s in states)
    by_bytes = any(s.kind is Kind.BYTE for s in states)
    sets = {s.ranges for s in states if s.kind is Kind.CHARACTER}
    refuse_ranges(sum(map(len, sets)))
    sides_of = [((10, 10),), WORD] if anchored else []
    cutting = [*sets, SURROGATES, *sides_of, *((w,) for w in WIDTHS if by_bytes)]
    cuts = tuple(sorted({0, *(c for ranges in cutting for first, last in ranges for c in (first, last + 1))}))
    unreadable = mask(SURROGATES, cuts)
    known = {ranges: mask(ranges, cuts) & ~unreadable for ranges in sets}
    sides = tuple(side_of(c) for c in cuts) if anchored else (OTHER,) * len(cuts)
    widths = tuple(map(width_of, cuts))
    masks = tuple(known.get(s.ranges, 0) if s.kind is Kind.CHARACTER else 0 for s in states)
    return Expression(states, fragment.start, fragment.end, cuts, masks, sides, widths)


def refuse_ranges(ranges: int) -> None:
    if ranges > MOST_RANGES:
        what = f"the sets of characters in the pattern have {ranges} ranges"
        raise LimitError(what, limit="sardonyx._src.ops.text.re2.automaton.MOST_RANGES")


def mask(ranges: Ranges, cuts: tuple[int, ...]) -> int:
    """The numbers of the characters in a set, as bits."""
    result = 0
    for first, last in ranges:
        low, high = bisect_right(cuts, first) - 1, bisect_right(cuts, last)
        result |= (1 << high) - (1 << low)
    return result


def side_of(code: int) -> int:
    if code == 10:
        return NEWLINE
    return WORDLIKE if contains(WORD, code) else OTHER


def width_of(code: int) -> int:
    """How many bytes the character has in UTF-8; one that stands for a byte that is none is that byte."""
    if contains(SURROGATES, code):
        return 1
    return next((i + 1 for i, (_, last) in enumerate(WIDTHS) if code <= last), 4)


@dataclass(slots=True)
class Matcher:
    """Matches texts against one expression; `limit` bounds the states that may be looked at in all.

    nexts: for each remembered set the next one by number of character; key: what a set stands for, the states and what
    was read before.
    """

    expression: Expression
    limit: int
    work: int = 0
    keys: list[tuple[frozenset[int], int]] = field(default_factory=list)
    numbers: dict[tuple[frozenset[int], int], int] = field(default_factory=dict)
    nexts: list[dict[int, int]] = field(default_factory=list)
    accepting: dict[int, bool] = field(default_factory=dict)
    remembered: int = 0

    def matches(self, text: str) -> bool:
        """Whether the expression matches all of the text.  Raises LimitError beyond the limit."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        current = self.number(frozenset((self.expression.start,)), EDGE)
        self.spend(len(codes))
        for character in (np.searchsorted(self.expression.cuts, codes, side="right") - 1).tolist():
            known = self.nexts[current].get(character)
            current = self.advance(current, character) if known is None else known
            if current == DEAD:
                return False
        if current not in self.accepting:
            states, before = self.keys[current]
            self.accepting[current] = self.expression.end in self.reached(states, before, EDGE)
        return self.accepting[current]

    def number(self, states: frozenset[int], before: int) -> int:
        """The number of a set of states, which is new or remembered."""
        if self.remembered > MOST_REMEMBERED:
            self.keys.clear()
            self.numbers.clear()
            self.nexts.clear()
            self.accepting.clear()
            self.remembered = 0
        key = (states, before)
        found = self.numbers.setdefault(key, len(self.keys))
        if found == len(self.keys):
            self.keys.append(key)
            self.nexts.append({})
            self.remembered += len(states) + 1
        return found

    def advance(self, current: int, character: int) -> int:
        """The set behind one more character, remembered; DEAD when there is none."""
        states, before = self.keys[current]
        side = self.expression.sides[character]
        found = self.read(self.reached(states, before, side), character)
        row = self.nexts[current]
        self.remembered += 1
        row[character] = DEAD if not found else self.number(found, side)
        return row[character]

    def read(self, states: set[int], character: int) -> frozenset[int]:
        """Where the character leads from these states."""
        e = self.expression
        found = {e.states[s].ways[0] for s in states if e.masks[s] >> character & 1}
        by_bytes = {e.states[s].ways[0] for s in states if e.states[s].kind is Kind.BYTE}
        for _ in range(
            e.widths[character] - 1
        ):  # the rest of a character is read byte by byte, or not at all
            inside = self.reached(frozenset(by_bytes), OTHER, OTHER) if by_bytes else set()
            by_bytes = {e.states[s].ways[0] for s in inside if e.states[s].kind is Kind.BYTE}
        return frozenset(found | by_bytes)

    def reached(self, states: frozenset[int], before: int, after: int) -> set[int]:
        """All states that can be reached without reading."""
        seen, waiting = set(states), list(states)
        while waiting:
            state = self.expression.states[waiting.pop()]
            if state.kind in READING or not holds(state.kind, before, after):
                continue
            new = [w for w in state.ways if w not in seen]
            seen.update(new)
            waiting.extend(new)
        self.spend(len(seen))
        return seen

    def spend(self, steps: int) -> None:
        self.work += steps
        if self.work > self.limit:
            raise LimitError(f"matching has looked at {self.limit} states", limit="limits.iterations")


def holds(kind: Kind, before: int, after: int) -> bool:
    """Whether a place with these neighbours lets an anchor pass."""
    if kind is Kind.EMPTY:
        return True
    if kind in (Kind.BEGIN_TEXT, Kind.BEGIN_LINE):
        return before == EDGE or (kind is Kind.BEGIN_LINE and before == NEWLINE)
    if kind in (Kind.END_TEXT, Kind.END_LINE):
        return after == EDGE or (kind is Kind.END_LINE and after == NEWLINE)
    boundary = (before == WORDLIKE) != (after == WORDLIKE)
    return boundary == (kind is Kind.WORD_BOUNDARY)
