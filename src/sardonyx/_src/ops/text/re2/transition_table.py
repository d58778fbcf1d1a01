"""Full matches of many strings at once: the DFA of an expression is a table, and all strings advance together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.text.re2.automaton import DEAD_STATE, EDGE, Expression, Matcher, compile_expression

Numbers = NDArray[np.int64]
MAX_ENTRIES = 1 << 15  # of a table
MAX_TABLES = 3
MAX_BUILD_VISITS = 1_000_000  # visits of NFA states while a table is built
# A Matcher is faster for fewer texts, and for texts that are on average this many times shorter than the longest.
MIN_TEXTS, MAX_PADDING = 16, 4
LATIN = 256  # the number of code points of Latin-1


@dataclass(frozen=True, slots=True)
class TransitionTable:
    """A DFA whose classes are those of characters, followed by the class of padding, which does not change the state.

    steps: tables for steps of 1, 2, 4 ... characters: the next state, [combined classes of the characters, states]
    accepts: for each state, whether a text may end in it
    latin: the classes of the characters of Latin-1, where NUL is padding
    """

    expression: Expression
    steps: tuple[Numbers, ...]
    accepts: NDArray[np.bool_]
    latin: bytes

    def matches(self, texts: Sequence[str], lengths: Numbers, longest: int) -> NDArray[np.bool_]:
        """Whether the expression matches each whole text; longest: the greatest of `lengths`."""
        doublings = len(self.steps) - 1
        rows = -(-longest >> doublings) << doublings
        classes: NDArray[np.integer[Any]] = self.classify(texts, lengths, rows)
        for table in self.steps[:-1]:
            classes = classes[0::2] * np.int64(len(table)) + classes[1::2]
        last, current = self.steps[-1].reshape(-1), np.zeros(len(texts), np.int64)
        for step in classes * np.int64(len(self.accepts)):
            current += step
            current = last.take(current)
        return self.accepts.take(current)

    def classify(self, texts: Sequence[str], lengths: Numbers, rows: int) -> NDArray[np.integer[Any]]:
        """The class of each character, [rows, texts], and of padding after the last one."""
        codes = np.array(texts, f"U{rows}").view(np.uint32).reshape(len(texts), rows)
        if int(codes.max(initial=0)) >= LATIN:
            classes: NDArray[np.integer[Any]] = (
                np.searchsorted(self.expression.cuts, codes.T, side="right") - 1
            )
        else:
            is_padded = np.count_nonzero(codes) == int(lengths.sum())  # no text has a NUL
            table = self.latin if is_padded else self.expression.latin
            bytes_ = codes.astype(np.uint8).T.tobytes().translate(table)
            classes = np.frombuffer(bytes_, np.uint8).reshape(rows, len(texts))
            if is_padded:
                return classes
        padding = len(self.steps[0]) - 1
        return np.where(np.arange(rows)[:, np.newaxis] < lengths, classes, padding)


@lru_cache(maxsize=64)
def transition_table(pattern: str) -> TransitionTable | None:
    """The table of a valid pattern; None if it would be too large."""
    expression = compile_expression(pattern)
    matcher, classes = Matcher(expression, MAX_BUILD_VISITS), range(len(expression.cuts))
    most = MAX_ENTRIES // (len(classes) + 1) if len(classes) < LATIN else 0
    matcher.number(frozenset((expression.start,)), EDGE)
    rows: list[list[int]] = []
    while len(rows) < len(matcher.keys):
        if len(matcher.keys) >= most:
            return None
        rows.append([matcher.advance(len(rows), c) for c in classes])
    dead = len(rows)
    steps = np.array([*rows, [dead] * len(classes)], np.int64).T
    steps = np.concatenate([np.where(steps == DEAD_STATE, dead, steps), [np.arange(dead + 1)]])
    accepts = np.array([*(matcher.accepts(state, EDGE) for state in range(dead)), False])
    latin = bytes([len(classes), *expression.latin[1:]])
    return TransitionTable(expression, double_steps(steps), accepts, latin)


def double_steps(steps: Numbers) -> tuple[Numbers, ...]:
    """The tables for steps of 1, 2, 4 ... characters, as far as they have at most MAX_ENTRIES entries."""
    tables = [steps]
    while len(tables) < MAX_TABLES and len(steps) * steps.size <= MAX_ENTRIES:
        steps = np.swapaxes(steps[:, steps], 0, 1).reshape(-1, steps.shape[1])
        tables.append(steps)
    return tuple(tables)


def match_table(pattern: str, texts: Sequence[str], lengths: Numbers) -> NDArray[np.bool_] | None:
    """Whether the pattern matches each whole text; None if a Matcher would be faster, or the table too large."""
    longest = int(lengths.max(initial=0))
    if len(texts) < MIN_TEXTS or len(texts) * longest > MAX_PADDING * int(lengths.sum()):
        return None
    table = transition_table(pattern) if longest else None
    return None if table is None else table.matches(texts, lengths, longest)
