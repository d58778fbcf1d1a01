"""TfIdfVectorizer of integers: the kernel looks up n-grams in a trie of the pool, which is stored as a hash table.

Falls back to the reference kernel for strings, and in mode IDF for several n-grams with the same index in the result.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sardonyx._src.compile.kernels.selection.ngram_counts import NgramTrie, ngram_counts_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

MAX_TOKENS = (1 << 24) - 1  # of a row, so that float32 counts are exact
MAX_POOL = 1 << 20  # the most tokens of a pool for which a trie is built


@matches("TfIdfVectorizer", 9)
def match_tf_idf_vectorizer(op: BoundNode, scope: Scope) -> Region[NgramTrie] | None:
    x, pool = op.input(0), op.attributes.get("pool_int64s")
    if x is None or not scope.is_native(x) or scope.dtype(x) not in (DataType.INT32, DataType.INT64):
        return None
    shape, result = scope.known_shape(x), scope.shape(op.output)
    if not isinstance(pool, tuple) or not 0 < len(pool) <= MAX_POOL or len(shape) not in (1, 2):
        return None
    indexes = np.array(op.attribute("ngram_indexes", tuple), np.int64)
    is_binary = op.attribute("mode", str) == "IDF"
    if result != (*shape[:-1], int(indexes.max(initial=-1)) + 1):
        return None
    if is_binary and len(np.unique(indexes)) < len(indexes):
        return None
    if not scope.guard_ge(MAX_TOKENS, shape[-1]):
        return None
    trie = build_trie(op, pool, indexes, is_binary=is_binary)
    return Region("TfIdfVectorizer", (op.node,), trie, (Read(x, DENSE),), (Write(op.output),))


def build_trie(op: BoundNode, pool: tuple[int, ...], indexes: Array, *, is_binary: bool) -> NgramTrie:
    """The trie of the n-grams whose lengths are in range."""
    shortest, longest = (op.attribute(f"{bound}_gram_length", int) for bound in ("min", "max"))
    weights = op.attributes.get("weights")
    has_weights = isinstance(weights, tuple) and len(weights) > 0 and op.attribute("mode", str) != "TF"
    each = np.array(weights if has_weights else [1.0] * len(indexes), np.float32)
    starts = [*op.attribute("ngram_counts", tuple), len(pool)]
    ngrams = [
        tuple(pool[i : i + n])
        for n, (begin, end) in enumerate(pairwise(starts), 1)
        for i in range(begin, end, n)
    ]
    counted = [i for i, ngram in enumerate(ngrams) if shortest <= len(ngram) <= longest]
    return NgramTrie.of(
        [ngrams[i] for i in counted],
        indexes[counted],
        each[counted],
        op.attribute("max_skip_count", int),
        is_binary=is_binary,
    )


@lowers("TfIdfVectorizer")
def lower_tf_idf_vectorizer(region: LaidOutRegion[NgramTrie], lowering: Lowering) -> Step:
    (x,), (y,) = region.operands, region.results
    if x.rank == 1:
        x, y = x.reshape((1, *x.shape)), y.reshape((1, *y.shape))
    return ngram_counts_step(x, y, region.config)
