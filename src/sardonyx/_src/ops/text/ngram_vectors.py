"""Vectors of the n-grams of rows of tokens: how often each n-gram of a pool occurs, weighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.ml.lookup import map_strings, string_vector
from sardonyx._src.ops.text.ngrams import Ints, NgramPool


class NgramLists(NamedTuple):
    """The attributes of a TfIdfVectorizer that are lists; weights: None if all are 1."""

    int64s: tuple[int, ...] | None
    strings: tuple[str, ...] | None
    counts: tuple[int, ...]
    indexes: tuple[int, ...]
    weights: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class NgramVectorizer:
    """A pool of n-grams, each with its index in the result and its weight.

    width: of the result.  is_binary: whether an n-gram counts once.  is_plain: whether results are counts alone.  words:
    the number of each n-gram if all are different strings of one token; None for other pools.  places: `indexes` as Python's integers.
    """

    pool: NgramPool
    indexes: Ints
    weights: NDArray[np.float64]
    width: int
    is_binary: bool
    is_plain: bool
    words: Mapping[str, int] | None
    places: Sequence[int]

    def count_ngrams(self, rows: Array, skips: int) -> Array:
        """rows: [N, C] tokens; result: [N, width] float32."""
        if self.words is None:
            return self.sum_present(len(rows), *self.pool.counts(rows, skips))
        words = map_strings(rows, self.words, -1).reshape(-1)
        places = np.flatnonzero(words >= 0)
        return self.count_words(len(rows), places // max(1, rows.shape[1]), words[places])

    def count_words(self, rows: int, row: Ints, word: Ints) -> Array:
        """row, word: of each occurrence of a 1-gram, by the number of the n-gram; result: [rows, width] float32."""
        if self.is_plain:
            counts = np.bincount(row * self.width + self.indexes[word], minlength=rows * self.width)
            return counts.astype(np.float32).reshape(rows, self.width)
        return self.sum_present(rows, *np.unique(row * self.pool.size + word, return_counts=True))

    def count_pairs(self, rows: int, pairs: Sequence[tuple[int, int]]) -> Array:
        """`count_words` for a few pairs of row and word."""
        if not self.is_plain:
            return self.count_words(rows, *np.array(pairs, np.int64).reshape(-1, 2).T)
        result = np.zeros(rows * self.width, np.float32)
        for row, word in pairs:
            result[row * self.width + self.places[word]] += 1
        return result.reshape(rows, self.width)

    def sum_present(self, rows: int, present: Ints, counts: Ints) -> Array:
        """present: row * size + n-gram, ascending; counts: the number of occurrences of each."""
        row, ngram = np.divmod(present, max(1, self.pool.size))
        amount = np.minimum(counts, 1) if self.is_binary else counts
        places, sums = row * self.width + self.indexes[ngram], amount * self.weights[ngram]
        flat = np.bincount(places, sums, minlength=rows * self.width)
        return flat.reshape(rows, self.width).astype(np.float32)


@lru_cache(maxsize=64)
def build_vectorizer(
    same: IdentityKey[NgramLists], shortest: int, longest: int, *, is_binary: bool
) -> NgramVectorizer:
    """The vectorizer of n-grams of `shortest` to `longest` tokens; raises EvaluationError for inconsistent lists."""
    lists = same.attributes
    tokens = string_vector(lists.strings) if lists.strings else np.array(lists.int64s, np.int64)
    size = len(lists.indexes)
    pool = NgramPool.of(tokens, lists.counts, shortest, longest, size)
    indexes = np.array(lists.indexes, np.int64)
    if (indexes < 0).any():
        raise EvaluationError(f"ngram_indexes must be >= 0; got {indexes.min()}")
    weights = np.array(lists.weights, np.float64) if lists.weights else np.ones(size)
    if len(weights) != size:
        raise EvaluationError(f"weights must have {size} elements, one per n-gram; got {len(weights)}")
    is_plain = not lists.weights and not is_binary
    width = int(indexes.max(initial=-1)) + 1
    return NgramVectorizer(
        pool, indexes, weights, width, is_binary, is_plain, number_words(pool), indexes.tolist()
    )


def number_words(pool: NgramPool) -> Mapping[str, int] | None:
    """The number of each n-gram of a pool, if all that count are different strings of one token; None for other pools."""
    if len(pool.grams) != 1 or pool.grams[0].tokens.shape[1] != 1 or pool.vocabulary.dtype.kind != "O":
        return None
    (grams,) = pool.grams
    words = {word: grams.first + i for i, word in enumerate(grams.tokens[:, 0].tolist())}
    return words if len(words) == len(grams.tokens) else None
