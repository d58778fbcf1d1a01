"""Vectors of the n-grams of rows of tokens: how often each n-gram of a pool occurs, weighted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.ml.lookup import string_vector
from sardonyx._src.ops.text.ngrams import Ints, NgramPool

MAX_LOOPED_TOKENS = 200  # up to this number, a Python loop is as fast as NumPy
MAX_FLOAT_COUNT = 1 << 24  # repeatedly adding 1 in float32 is exact up to this count


class NgramLists(NamedTuple):
    """The list attributes of a TfIdfVectorizer; weights: None if all are 1."""

    int64s: tuple[int, ...] | None
    strings: tuple[str, ...] | None
    counts: tuple[int, ...]
    indexes: tuple[int, ...]
    weights: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class NgramVectorizer:
    """A pool of n-grams, each with its index in the result and its weight.

    width: the number of columns of the result
    is_binary: whether several occurrences of an n-gram count as one
    is_plain: whether the results are unweighted counts
    is_distinct: whether no two n-grams have the same index
    index_list, weight_list: `indexes` and `weights` as Python's numbers
    """

    pool: NgramPool
    indexes: Ints
    weights: NDArray[np.float64]
    width: int
    is_binary: bool
    is_plain: bool
    is_distinct: bool
    index_list: Sequence[int]
    weight_list: Sequence[float]

    def count_ngrams(self, rows: Array, skips: int) -> Array:
        """rows: [N, C] tokens; result: [N, width] float32."""
        if rows.size <= MAX_LOOPED_TOKENS:
            return self.count_each([self.pool.find_each(tokens, skips) for tokens in rows.tolist()])
        ids = self.pool.find(rows.reshape(-1))
        return self.count_ids(len(rows), ids, np.repeat(np.arange(len(rows)), rows.shape[1]), skips)

    def count_ids(self, rows: int, ids: Ints, row: Ints, skips: int, out: Array | None = None) -> Array:
        """The vectors of rows, [rows, width] float32, in `out` if it is given.

        ids, row: the index in the vocabulary and the row of each token, in order of rows
        """
        row, gram = self.pool.occurrences(ids, row, skips)
        if len(gram) > MAX_FLOAT_COUNT or not (self.is_plain or self.is_distinct):
            return self.sum_present(rows, *np.unique(row * self.pool.size + gram, return_counts=True))
        result = self.zeros(rows, out)
        positions = row * self.width + self.indexes[gram]
        np.add.at(result, positions, np.float32(1))
        if not self.is_plain:
            weights = self.weights[gram]
            result[positions] = weights if self.is_binary else weights * result[positions]
        return result.reshape(rows, self.width)

    def zeros(self, rows: int, out: Array | None) -> Array:
        """The elements of a result as a vector of zeros, in `out` if it is given."""
        if out is None:
            return np.zeros(rows * self.width, np.float32)
        out.fill(0)
        return out.reshape(-1)

    def count_each(self, rows: Sequence[Sequence[int]], out: Array | None = None) -> Array:
        """The result of `count_ids`, from lists of the n-grams that occur in each row; faster for few of them."""
        sums: dict[int, float] = {}
        for row, grams in enumerate(rows):
            start, indexes = row * self.width, self.index_list
            if self.is_plain:
                for gram in grams:
                    position = start + indexes[gram]
                    sums[position] = sums.get(position, 0) + 1
                continue
            for gram, count in sorted(Counter(grams).items()):
                position, amount = start + indexes[gram], 1 if self.is_binary else count
                sums[position] = sums.get(position, 0.0) + amount * self.weight_list[gram]
        result = self.zeros(len(rows), out)
        result[list(sums)] = list(sums.values())
        return result.reshape(len(rows), self.width)

    def sum_present(self, rows: int, present: Ints, counts: Ints) -> Array:
        """The vectors of rows from the distinct pairs of a row and an n-gram.

        present: row * size + n-gram of each pair, ascending
        counts: the number of occurrences of each pair
        """
        row, gram = np.divmod(present, max(1, self.pool.size))
        amount = np.minimum(counts, 1) if self.is_binary else counts
        positions, sums = row * self.width + self.indexes[gram], amount * self.weights[gram]
        flat = np.bincount(positions, sums, minlength=rows * self.width)
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
