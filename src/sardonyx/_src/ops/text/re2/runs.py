"""Expressions whose matches are runs of some characters.

Of [a-z]+, they are the longest runs, so that the leftmost longest match, which counts in RE2, is the one that Python's
`re` finds.  Of " " and " +", they are single characters or runs of them, which separate the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from sardonyx._src.ops.text.re2.automaton import (
    DEAD_STATE,
    MAX_REPEATED_CLASSES,
    OTHER,
    Expression,
    Matcher,
    compile_expression,
)
from sardonyx._src.ops.text.re2.characters import LAST_CODE_POINT, Ranges, normal

MAX_VISITED_STATES = 1_000_000  # in the recognition of an expression
MAX_SEPARATOR_STATES = 16


@lru_cache(maxsize=64)
def run_pattern(expression: str) -> re.Pattern[str] | None:
    """The pattern of `re` with the same matches; None for an expression whose matches are not the longest runs of characters.

    Raises what `compile_expression` raises.
    """
    ranges = run_ranges(expression)
    return None if ranges is None else ranges_pattern(ranges)


def run_ranges(expression: str) -> Ranges | None:
    """The characters C if the matches of the expression are the longest runs of C; otherwise None."""
    compiled = compile_expression(expression)
    classes = Matcher(compiled, MAX_VISITED_STATES).run_classes()
    return None if classes is None else ranges_of(compiled, classes)


def separating_ranges(expression: str) -> Ranges | None:
    """The characters C if the expression matches each of C, and otherwise only runs of C; None for other expressions.

    Raises what `compile_expression` raises.
    """
    compiled = compile_expression(expression)
    classes = separating_classes(Matcher(compiled, MAX_VISITED_STATES))
    return None if classes is None else ranges_of(compiled, classes)


def separating_classes(matcher: Matcher) -> set[int] | None:
    """The character classes of `separating_ranges`: every state after the first accepts, and reads no others."""
    expression = matcher.expression
    classes = range(len(expression.cuts))
    if len(classes) > MAX_REPEATED_CLASSES or len({*expression.sides}) > 1:
        return None
    start = matcher.number(frozenset((expression.start,)), OTHER)
    after_one = {c: matcher.advance(start, c) for c in classes}
    characters = {c for c in classes if after_one[c] != DEAD_STATE}
    waiting = list({after_one[c] for c in characters})
    seen = set(waiting)
    while waiting:
        state = waiting.pop()
        targets = {c: matcher.advance(state, c) for c in classes}
        read = {c for c in classes if targets[c] != DEAD_STATE}
        new = {targets[c] for c in read} - seen
        seen |= new
        if not matcher.accepts(state, OTHER) or not read <= characters or len(seen) > MAX_SEPARATOR_STATES:
            return None
        waiting += new
    return characters


def ranges_of(compiled: Expression, classes: Iterable[int]) -> Ranges:
    """The characters of some classes."""
    ends = (*compiled.cuts, LAST_CODE_POINT + 1)
    return normal((ends[c], ends[c + 1] - 1) for c in classes)


def ranges_pattern(ranges: Ranges) -> re.Pattern[str]:
    """The pattern of the runs of these characters."""
    escaped = (f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{''.join(escaped)}]+")
