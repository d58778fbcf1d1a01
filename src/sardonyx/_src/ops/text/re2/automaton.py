"""Linear-time matching with a lazily built DFA over the states of a Thompson NFA.

Characters that no state distinguishes form one class; transitions are cached by class.  Anchors depend on the
characters on both sides, so they are decided when the next character is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property, lru_cache

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import (
    LAST_CODE_POINT,
    SURROGATES,
    WORD_CHARACTERS,
    Ranges,
    contains,
)
from sardonyx._src.ops.text.re2.parser import PatternParser
from sardonyx._src.ops.text.re2.states import READING, State, StateKind

# The context on one side of a position: an end of the text, or the kind of the character.
EDGE, NEWLINE, WORDLIKE, OTHER = range(4)
MAX_CACHED_STATES = 1_000_000  # the NFA states in cached sets, and the transitions between sets, at one time
MAX_REPEATED_CLASSES = 64  # an expression with more character classes is not examined for runs of classes
MAX_RANGES = 1_000_000  # of code points, in all character sets of one expression
# The code points whose UTF-8 encoding has 1, 2, 3 and 4 bytes.
UTF8_WIDTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST_CODE_POINT))
DEAD_STATE = -1


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled pattern.

    cuts: the first code point of each character class
    latin: the classes of the first 256 code points
    masks: for each state, the classes that it reads, as bits
    sides: for each class, the context that it is for anchors
    widths: for each class, the length of its characters in UTF-8
    closures: the number of epsilon closures that reading one character may need
    """

    states: tuple[State, ...]
    start: int
    end: int
    cuts: tuple[int, ...]
    latin: bytes
    masks: tuple[int, ...]
    sides: tuple[int, ...]
    widths: tuple[int, ...]
    closures: int


@lru_cache(maxsize=64)
def compile_expression(pattern: str) -> Expression:
    """Compiles a pattern; raises EvaluationError for one that RE2 would refuse, LimitError for a too large one."""
    parser = PatternParser(pattern)
    fragment = parser.parse()
    states = tuple(parser.states.all)
    anchored = any(s.kind not in (*READING, StateKind.EMPTY) for s in states)
    by_bytes = any(s.kind is StateKind.BYTE for s in states)
    sets = {s.ranges for s in states if s.kind is StateKind.CHARACTER}
    check_range_count(sum(map(len, sets)))
    sides_of = [((10, 10),), WORD_CHARACTERS] if anchored else []
    cutting = [*sets, SURROGATES, *sides_of, *((w,) for w in UTF8_WIDTHS if by_bytes)]
    cuts = tuple(sorted({0, *(c for ranges in cutting for first, last in ranges for c in (first, last + 1))}))
    unreadable = mask(SURROGATES, cuts)
    known = {ranges: mask(ranges, cuts) & ~unreadable for ranges in sets}
    sides = tuple(side_of(c) for c in cuts) if anchored else (OTHER,) * len(cuts)
    widths = tuple(map(width_of, cuts))
    masks = tuple(known.get(s.ranges, 0) if s.kind is StateKind.CHARACTER else 0 for s in states)
    latin = bytes(bisect_right(cuts, code) - 1 for code in range(256))
    return Expression(
        states, fragment.start, fragment.end, cuts, latin, masks, sides, widths, 4 if by_bytes else 1
    )


def check_range_count(ranges: int) -> None:
    if ranges > MAX_RANGES:
        what = f"the character sets of the pattern must have at most {MAX_RANGES} ranges; got {ranges}"
        raise LimitError(what, limit="sardonyx._src.ops.text.re2.automaton.MAX_RANGES")


def mask(ranges: Ranges, cuts: tuple[int, ...]) -> int:
    """The character classes of a set, as bits."""
    result = 0
    for first, last in ranges:
        low, high = bisect_right(cuts, first) - 1, bisect_right(cuts, last)
        result |= (1 << high) - (1 << low)
    return result


def side_of(code: int) -> int:
    if code == 10:
        return NEWLINE
    return WORDLIKE if contains(WORD_CHARACTERS, code) else OTHER


def width_of(code: int) -> int:
    """The length of the character in UTF-8; a surrogate represents one undecodable byte."""
    if contains(SURROGATES, code):
        return 1
    return next((i + 1 for i, (_, last) in enumerate(UTF8_WIDTHS) if code <= last), 4)


@dataclass
class Matcher:
    """Matches strings against one expression.

    limit: the largest total number of visited states
    work: the number of states visited so far
    keys: for each DFA state, its NFA states and the kind of the previous character
    numbers: the DFA state of each key
    transitions: for each DFA state, the next one by character class
    accepting: whether a match ends, by DFA state and the kind of the next character
    cached_states: the size of the caches, which MAX_CACHED_STATES bounds
    """

    expression: Expression
    limit: int
    work: int = 0
    keys: list[tuple[frozenset[int], int]] = field(default_factory=list)
    numbers: dict[tuple[frozenset[int], int], int] = field(default_factory=dict)
    transitions: list[dict[int, int]] = field(default_factory=list)
    accepting: dict[tuple[int, int], bool] = field(default_factory=dict)
    cached_states: int = 0

    def matches(self, text: str) -> bool:
        """Whether the expression matches all of the text.  Raises LimitError beyond the limit."""
        current = self.number(frozenset((self.expression.start,)), EDGE)
        self.spend(len(text))
        for character in self.classify(text):
            known = self.transitions[current].get(character)
            current = self.advance(current, character) if known is None else known
            if current == DEAD_STATE:
                return False
        return self.accepts(current, EDGE)

    def find_all(self, text: str) -> list[tuple[int, int]]:
        """Start and end of the matches in a text, each the leftmost and longest after the one before; none is empty.

        Raises LimitError beyond the limit.
        """
        characters = self.classify(text)
        if self.repeated_classes is not None and isinstance(characters, bytes):
            self.spend(len(characters))
            return [match.span() for match in self.repeated_classes.finditer(characters)]
        matches: list[tuple[int, int]] = []
        start = 0
        while start < len(characters):
            end = self.longest_match(characters, start)
            if end > start:
                matches.append((start, end))
            start = max(end, start + 1)
        return matches

    def classify(self, text: str) -> Sequence[int]:
        """The class of each character."""
        try:
            return text.encode("latin-1").translate(self.expression.latin)
        except UnicodeEncodeError:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
            classes: list[int] = (np.searchsorted(self.expression.cuts, codes, side="right") - 1).tolist()
            return classes

    @cached_property
    def repeated_classes(self) -> re.Pattern[bytes] | None:
        """A pattern of bytes that finds the same matches in a sequence of classes; None if `run_classes` is None."""
        accepted = self.run_classes()
        return None if accepted is None else re.compile(b"[" + re.escape(bytes(accepted)) + b"]+")

    def run_classes(self) -> list[int] | None:
        """The classes C if the matches of the expression are the longest runs of C, as for [a-z]+; otherwise None."""
        classes = range(len(self.expression.cuts))
        if len(classes) > MAX_REPEATED_CLASSES or len({*self.expression.sides}) > 1:
            return None
        start = self.number(frozenset((self.expression.start,)), OTHER)
        after_one = [self.advance(start, character) for character in classes]
        states = {*after_one} - {DEAD_STATE}
        if len(states) != 1 or self.accepts(start, OTHER):
            return None
        (inside,) = states
        if not self.accepts(inside, OTHER) or [self.advance(inside, c) for c in classes] != after_one:
            return None
        return [c for c in classes if after_one[c] == inside]

    def longest_match(self, characters: Sequence[int], start: int) -> int:
        """The end of the longest match that starts at a position; -1 if there is none."""
        sides = self.expression.sides
        before = sides[characters[start - 1]] if start else EDGE
        current, end = self.number(frozenset((self.expression.start,)), before), -1
        for i in range(start, len(characters)):
            character = characters[i]
            if self.accepts(current, sides[character]):
                end = i
            known = self.transitions[current].get(character)
            current = self.advance(current, character) if known is None else known
            if current == DEAD_STATE:
                self.spend(i - start)
                return end
        self.spend(len(characters) - start)
        return len(characters) if self.accepts(current, EDGE) else end

    def accepts(self, current: int, after: int) -> bool:
        """Whether a match ends in a DFA state, before a character of this kind; cached."""
        key = (current, after)
        if key not in self.accepting:
            states, before = self.keys[current]
            self.cached_states += 1
            self.accepting[key] = self.expression.end in self.epsilon_closure(states, before, after)
        return self.accepting[key]

    def number(self, states: frozenset[int], before: int) -> int:
        """The DFA state of a set of NFA states, new or cached."""
        if self.cached_states > MAX_CACHED_STATES:
            self.keys.clear()
            self.numbers.clear()
            self.transitions.clear()
            self.accepting.clear()
            self.cached_states = 0
        key = (states, before)
        next_states = self.numbers.setdefault(key, len(self.keys))
        if next_states == len(self.keys):
            self.keys.append(key)
            self.transitions.append({})
            self.cached_states += len(states) + 1
        return next_states

    def advance(self, current: int, character: int) -> int:
        """The DFA state after one more character, cached; DEAD_STATE if there is none."""
        states, before = self.keys[current]
        side = self.expression.sides[character]
        next_states = self.read(self.epsilon_closure(states, before, side), character)
        row = self.transitions[current]
        self.cached_states += 1
        row[character] = DEAD_STATE if not next_states else self.number(next_states, side)
        return row[character]

    def read(self, states: set[int], character: int) -> frozenset[int]:
        """The NFA states after reading the character."""
        e = self.expression
        next_states = {e.states[s].targets[0] for s in states if e.masks[s] >> character & 1}
        by_bytes = {e.states[s].targets[0] for s in states if e.states[s].kind is StateKind.BYTE}
        # States that read single bytes also read the remaining bytes of the character.
        for _ in range(e.widths[character] - 1):
            inside = self.epsilon_closure(frozenset(by_bytes), OTHER, OTHER) if by_bytes else set()
            by_bytes = {e.states[s].targets[0] for s in inside if e.states[s].kind is StateKind.BYTE}
        return frozenset(next_states | by_bytes)

    def epsilon_closure(self, states: frozenset[int], before: int, after: int) -> set[int]:
        """All states reachable without reading a character."""
        seen, waiting = set(states), list(states)
        while waiting:
            state = self.expression.states[waiting.pop()]
            if state.kind in READING or not holds(state.kind, before, after):
                continue
            new = [w for w in state.targets if w not in seen]
            seen.update(new)
            waiting.extend(new)
        self.spend(len(seen))
        return seen

    def spend(self, steps: int) -> None:
        self.work += steps
        if self.work > self.limit:
            raise LimitError(f"matching must visit at most {self.limit} states", limit="limits.iterations")


def holds(kind: StateKind, before: int, after: int) -> bool:
    """Whether an anchor holds between characters of these kinds."""
    if kind is StateKind.EMPTY:
        return True
    if kind in (StateKind.BEGIN_TEXT, StateKind.BEGIN_LINE):
        return before == EDGE or (kind is StateKind.BEGIN_LINE and before == NEWLINE)
    if kind in (StateKind.END_TEXT, StateKind.END_LINE):
        return after == EDGE or (kind is StateKind.END_LINE and after == NEWLINE)
    boundary = (before == WORDLIKE) != (after == WORDLIKE)
    return boundary == (kind is StateKind.WORD_BOUNDARY)
