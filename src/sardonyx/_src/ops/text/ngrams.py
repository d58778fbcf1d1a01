"""A pool of n-grams, and how often each is found in rows of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.lookup import positions

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grams:
    """The n-grams of one length: first: the number of the first one in the pool, tokens: [grams, n]."""

    first: int
    tokens: Array


@dataclass(frozen=True, slots=True)
class Pool:
    """All n-grams of the lengths that are asked for; `size` counts those of every length."""

    grams: tuple[Grams, ...]
    vocabulary: Array
    size: int

    @classmethod
    def of(cls, tokens: Array, starts: Sequence[int], shortest: int, longest: int, size: int) -> Pool:
        """tokens: those of all 1-grams, then of all 2-grams and so on, which begin at `starts`.

        Raises EvaluationError for bounds that do not fit.
        """
        check_bounds(len(tokens), starts, shortest, longest, size)
        bounds = [*starts, len(tokens)]
        grams, first = [], 0
        for n in range(1, len(starts) + 1):
            begin, end = bounds[n - 1], bounds[n]
            if shortest <= n <= longest:
                grams.append(Grams(first, tokens[begin:end].reshape(-1, n)))
            first += (end - begin) // n
        return cls(tuple(grams), np.unique(tokens), size)

    def counts(self, rows: Array, skips: int) -> tuple[Ints, Ints]:
        """rows: [N, C]; results: row * size + n-gram for each n-gram that a row has, and how often it has it."""
        ids = positions(rows, self.vocabulary, last=False)
        hits = [np.zeros(0, np.int64)]
        for grams in self.grams:
            known = positions(grams.tokens, self.vocabulary, last=False)
            n = known.shape[1]
            furthest = 0 if n == 1 else min(skips, (rows.shape[1] - 1) // (n - 1) - 1)
            for skip in range(furthest + 1):
                hits.append(self.matches(windows(ids, n, skip + 1), known, grams.first))
        found, counts = np.unique(np.concatenate(hits), return_counts=True)
        return found, counts

    def matches(self, tokens: Ints, known: Ints, first: int) -> Ints:
        """tokens: [N, windows, n] ids, known: [grams, n]; result: row * size + n-gram for every window that is one."""
        order, codes, code = ranked(known, tokens)
        row, window = np.nonzero(code >= 0)
        wanted = code[row, window]
        begin, end = np.searchsorted(codes, wanted), np.searchsorted(codes, wanted, side="right")
        times = end - begin  # n-grams that stand in the pool more than once
        behind = np.cumsum(times)
        each = np.arange(behind[-1] if len(behind) else 0) + np.repeat(begin - behind + times, times)
        return np.repeat(row * self.size, times) + first + order[each]


def check_bounds(tokens: int, starts: Sequence[int], shortest: int, longest: int, size: int) -> None:
    """Raises EvaluationError unless `starts` cut a pool of so many tokens into `size` n-grams of the lengths wanted."""
    if not 1 <= shortest <= longest <= len(starts):
        what = f"min_gram_length is {shortest} and max_gram_length {longest}"
        raise EvaluationError(f"{what}, where ngram_counts knows lengths from 1 to {len(starts)}")
    count = 0
    for n, (begin, end) in enumerate(pairwise([*starts, tokens]), 1):
        if not 0 <= begin <= end <= tokens or (end - begin) % n:
            raise EvaluationError(
                f"ngram_counts {list(starts)} cuts a pool of {tokens} tokens at no {n}-grams"
            )
        count += (end - begin) // n
    if count != size:
        raise EvaluationError(f"ngram_indexes has {size} elements for {count} n-grams")


def windows(ids: Ints, n: int, distance: int) -> Ints:
    """ids: [N, C]; result: [N, windows, n], ids that stand `distance` apart."""
    count = max(0, ids.shape[1] - (n - 1) * distance)
    return ids[:, np.arange(count)[:, np.newaxis] + np.arange(n) * distance]


def ranked(known: Ints, tokens: Ints) -> tuple[Ints, Ints, Ints]:
    """Numbers for n-grams: an order of the known ones, their numbers in it, and those of tokens, -1 for others.

    One token after the other joins the number of those before it, so that numbers stay small.
    """
    code, mine = np.zeros(tokens.shape[:-1], np.int64), np.zeros(len(known), np.int64)
    base = int(known.max(initial=0)) + 1
    for k in range(known.shape[1]):
        longer, theirs = mine * base + known[:, k], code * base + tokens[..., k]
        values, mine = np.unique(longer, return_inverse=True)
        place = np.minimum(np.searchsorted(values, theirs), max(0, len(values) - 1))
        met = (code >= 0) & (tokens[..., k] >= 0) & (values[place] == theirs if len(values) else False)
        code = np.where(met, place, -1)
    order = np.argsort(mine, kind="stable")
    return order, mine[order], code
