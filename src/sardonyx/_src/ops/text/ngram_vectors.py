"""Vectors of the n-grams of rows of tokens: how often each n-gram of a pool occurs, weighted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.ml.lookup import string_vector
from sardonyx._src.ops.text.ngrams import Ints, NgramPool

MAX_LOOPED_TOKENS = 200  # that NumPy is not faster for
MAX_FLOAT_COUNT = 1 << 24  # up to which float32 counts


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

    width: of the result.  is_binary: whether an n-gram counts once.  is_plain: whether results are counts alone.  is_distinct:
    whether no two n-grams have one index.  places, factors: `indexes` and `weights` as Python's numbers.
    """

    pool: NgramPool
    indexes: Ints
    weights: NDArray[np.float64]
    width: int
    is_binary: bool
    is_plain: bool
    is_distinct: bool
    places: Sequence[int]
    factors: Sequence[float]

    def count_ngrams(self, rows: Array, skips: int) -> Array:
        """rows: [N, C] tokens; result: [N, width] float32."""
        if rows.size <= MAX_LOOPED_TOKENS:
            return self.count_each([self.pool.find_each(tokens, skips) for tokens in rows.tolist()])
        ids = self.pool.find(rows.reshape(-1))
        return self.count_ids(len(rows), ids, np.repeat(np.arange(len(rows)), rows.shape[1]), skips)

    def count_ids(self, rows: int, ids: Ints, row: Ints, skips: int, out: Array | None = None) -> Array:
        """ids, row: of each token, in order of rows; result: [rows, width] float32, in `out` if it is given."""
        row, gram = self.pool.occurrences(ids, row, skips)
        if len(gram) > MAX_FLOAT_COUNT or not (self.is_plain or self.is_distinct):
            return self.sum_present(rows, *np.unique(row * self.pool.size + gram, return_counts=True))
        result = self.zeros(rows, out)
        places = row * self.width + self.indexes[gram]
        np.add.at(result, places, np.float32(1))
        if not self.is_plain:
            weights = self.weights[gram]
            result[places] = weights if self.is_binary else weights * result[places]
        return result.reshape(rows, self.width)

    def zeros(self, rows: int, out: Array | None) -> Array:
        """A vector of all elements of a result, in `out` if it is given."""
        if out is None:
            return np.zeros(rows * self.width, np.float32)
        out.fill(0)
        return out.reshape(-1)

    def count_each(self, rows: Sequence[Sequence[int]], out: Array | None = None) -> Array:
        """`count_ids` for the n-grams that occur in each row, if they are few."""
        sums: dict[int, float] = {}
        for row, grams in enumerate(rows):
            start, places = row * self.width, self.places
            if self.is_plain:
                for gram in grams:
                    place = start + places[gram]
                    sums[place] = sums.get(place, 0) + 1
                continue
            for gram, count in sorted(Counter(grams).items()):
                place, amount = start + places[gram], 1 if self.is_binary else count
                sums[place] = sums.get(place, 0.0) + amount * self.factors[gram]
        result = self.zeros(len(rows), out)
        result[list(sums)] = list(sums.values())
        return result.reshape(len(rows), self.width)

    def sum_present(self, rows: int, present: Ints, counts: Ints) -> Array:
        """present: row * size + n-gram, ascending; counts: the number of occurrences of each."""
        row, gram = np.divmod(present, max(1, self.pool.size))
        amount = np.minimum(counts, 1) if self.is_binary else counts
        places, sums = row * self.width + self.indexes[gram], amount * self.weights[gram]
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
    is_distinct = len(np.unique(indexes)) == size
    return NgramVectorizer(
        pool,
        indexes,
        weights,
        width,
        is_binary,
        is_plain,
        is_distinct,
        indexes.tolist(),
        weights.tolist(),
    )
