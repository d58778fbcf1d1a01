"""A pool of n-grams, and the number of occurrences of each in rows of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.lookup import find_positions

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NgramsOfLength:
    """The n-grams of one length; first: the index of the first one in the pool, tokens: [grams, n]."""

    first: int
    tokens: Array


@dataclass(frozen=True, slots=True)
class NgramPool:
    """The n-grams of the requested lengths; size: the number of n-grams of all lengths."""

    grams: tuple[NgramsOfLength, ...]
    vocabulary: Array
    size: int

    @classmethod
    def of(cls, tokens: Array, starts: Sequence[int], shortest: int, longest: int, size: int) -> NgramPool:
        """tokens: those of all 1-grams, then of all 2-grams and so on, which begin at `starts`.

        Raises EvaluationError for inconsistent bounds.
        """
        check_bounds(len(tokens), starts, shortest, longest, size)
        bounds = [*starts, len(tokens)]
        grams, first = [], 0
        for n in range(1, len(starts) + 1):
            begin, end = bounds[n - 1], bounds[n]
            if shortest <= n <= longest:
                grams.append(NgramsOfLength(first, tokens[begin:end].reshape(-1, n)))
            first += (end - begin) // n
        return cls(tuple(grams), np.unique(tokens), size)

    def counts(self, rows: Array, skips: int) -> tuple[Ints, Ints]:
        """rows: [N, C]; results: row * size + n-gram for each n-gram in a row, and its number of occurrences."""
        ids = find_positions(rows, self.vocabulary, last=False)
        hits = [np.zeros(0, np.int64)]
        for grams in self.grams:
            known = find_positions(grams.tokens, self.vocabulary, last=False)
            n = known.shape[1]
            furthest = 0 if n == 1 else min(skips, (rows.shape[1] - 1) // (n - 1) - 1)
            for skip in range(furthest + 1):
                hits.append(self.matches(token_windows(ids, n, skip + 1), known, grams.first))
        present, counts = np.unique(np.concatenate(hits), return_counts=True)
        return present, counts

    def matches(self, tokens: Ints, known: Ints, first: int) -> Ints:
        """tokens: [N, windows, n] ids, known: [grams, n]; result: row * size + n-gram for every window that equals a known n-gram."""
        order, codes, code = rank_ngrams(known, tokens)
        row, window = np.nonzero(code >= 0)
        window_codes = code[row, window]
        begin, end = np.searchsorted(codes, window_codes), np.searchsorted(codes, window_codes, side="right")
        times = end - begin  # n-grams may occur in the pool more than once
        ends = np.cumsum(times)
        each = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - ends + times, times)
        return np.repeat(row * self.size, times) + first + order[each]


def check_bounds(tokens: int, starts: Sequence[int], shortest: int, longest: int, size: int) -> None:
    """Raises EvaluationError unless `starts` split a pool of `tokens` into `size` n-grams of the requested lengths."""
    if not 1 <= shortest <= longest <= len(starts):
        raise EvaluationError(
            f"gram lengths must satisfy 1 <= min <= max <= {len(starts)}, the entries of ngram_counts; "
            f"got {shortest} and {longest}"
        )
    count = 0
    for n, (begin, end) in enumerate(pairwise([*starts, tokens]), 1):
        if not 0 <= begin <= end <= tokens or (end - begin) % n:
            raise EvaluationError(
                f"ngram_counts must split the pool of {tokens} tokens into whole {n}-grams; got {list(starts)}"
            )
        count += (end - begin) // n
    if count != size:
        raise EvaluationError(f"ngram_indexes must have {count} elements, one per n-gram; got {size}")


def token_windows(ids: Ints, n: int, distance: int) -> Ints:
    """ids: [N, C]; result: [N, windows, n], ids `distance` apart."""
    count = max(0, ids.shape[1] - (n - 1) * distance)
    return ids[:, np.arange(count)[:, np.newaxis] + np.arange(n) * distance]


def rank_ngrams(known: Ints, tokens: Ints) -> tuple[Ints, Ints, Ints]:
    """Integer codes for n-grams: an order of the known ones, their codes in it, and those of tokens, -1 if unknown.

    Codes are re-numbered after each token, so that they stay small.
    """
    code, known_code = np.zeros(tokens.shape[:-1], np.int64), np.zeros(len(known), np.int64)
    base = int(known.max(initial=0)) + 1
    for k in range(known.shape[1]):
        longer, longer_code = known_code * base + known[:, k], code * base + tokens[..., k]
        values, known_code = np.unique(longer, return_inverse=True)
        position = np.minimum(np.searchsorted(values, longer_code), max(0, len(values) - 1))
        is_known = (
            (code >= 0) & (tokens[..., k] >= 0) & (values[position] == longer_code if len(values) else False)
        )
        code = np.where(is_known, position, -1)
    order = np.argsort(known_code, kind="stable")
    return order, known_code[order], code
