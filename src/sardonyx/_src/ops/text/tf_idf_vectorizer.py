"""TfIdfVectorizer: the number of occurrences of n-grams of a pool in rows of tokens, optionally weighted.

Spec: ai.onnx TfIdfVectorizer-9.  Tokens of an n-gram are 1 to max_skip_count + 1 positions apart, all at the same distance;
1-grams count once.  Each n-gram has a weight and an index in the result; n-grams with equal indexes are summed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.text.ngram_vectors import NgramLists, NgramVectorizer, build_vectorizer
from sardonyx._src.ops.text.ngrams import check_bounds
from sardonyx._src.ops.traits import enum_values

WEIGHTING_MODES = ("TF", "IDF", "TFIDF")

op = Operator(
    "TfIdfVectorizer",
    tolerance="rounding",
    enum_attributes={"mode": enum_values(*WEIGHTING_MODES)},
)


@op.eval(9)
def evaluate(
    X: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: tuple[int, ...],
    ngram_indexes: tuple[int, ...],
    pool_int64s: tuple[int, ...] | None = None,
    pool_strings: tuple[str, ...] | None = None,
    weights: tuple[float, ...] | None = None,
    context: RunContext,
) -> Array:
    """X: [C] or [N, C] int32, int64 or strings; result: [max(ngram_indexes) + 1] or [N, ...] float32."""
    if X.ndim not in (1, 2):
        raise EvaluationError(f"X must be [C] or [N, C]; got shape {list(X.shape)}")
    if mode not in WEIGHTING_MODES:
        raise EvaluationError(f"mode must be one of {', '.join(WEIGHTING_MODES)}; got {mode!r}")
    if max_skip_count < 0:
        raise EvaluationError(f"max_skip_count must be >= 0; got {max_skip_count}")
    check_pool_type(X, pool_int64s, pool_strings)
    lists = NgramLists(
        pool_int64s, pool_strings, ngram_counts, ngram_indexes, weights if mode != "TF" else None
    )
    vectorizer = build_vectorizer(
        IdentityKey(lists), min_gram_length, max_gram_length, is_binary=mode == "IDF"
    )
    rows = np.atleast_2d(X)
    check_result_bytes(context, (len(rows), vectorizer.width), np.float64, "TfIdfVectorizer result")
    result = vectorizer.count_ngrams(rows, max_skip_count)
    return result if X.ndim == 2 else result[0]


def vectorizer_of(attributes: Mapping[str, Any]) -> NgramVectorizer | None:
    """The vectorizer of a node with these valid attributes; None if its tokens are no strings, or it has skips."""
    given = {name: attributes.get(name) for name in ("pool_int64s", "pool_strings", "weights")}
    if given["pool_int64s"] or not given["pool_strings"]:
        return None
    mode, (shortest, longest) = (
        attributes["mode"],
        (attributes[f"{bound}_gram_length"] for bound in ("min", "max")),
    )
    if attributes["max_skip_count"] and longest > 1:
        return None
    lists = NgramLists(
        given["pool_int64s"],
        given["pool_strings"],
        attributes["ngram_counts"],
        attributes["ngram_indexes"],
        given["weights"] if mode != "TF" else None,
    )
    return build_vectorizer(IdentityKey(lists), shortest, longest, is_binary=mode == "IDF")


@op.bind(9)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """The count of the words of strings, without the nodes that split them."""
    vectorizer = vectorizer_of(binding.attributes)
    if vectorizer is None or binding.producers(0) is None:
        return None
    from sardonyx._src.ops.text.word_chains import (
        bind_chain,
    )  # lazy: loads slowly, and few programs have chains

    return bind_chain(binding, vectorizer)


def check_pool_type(X: Array, int64s: tuple[int, ...] | None, strings: tuple[str, ...] | None) -> None:
    if bool(int64s) == bool(strings):
        raise EvaluationError("exactly one of pool_int64s and pool_strings must be given")
    if bool(strings) != (X.dtype.kind == "O"):
        raise EvaluationError(f"X must have the element type of the pool; got {DataType.of(X.dtype).name}")


def check_pool(inference: Inference, indexes: tuple[int, ...]) -> None:
    """Raises EvaluationError for a pool that does not consist of n-grams, or of another element type than the input."""
    skips, starts, weights = (
        inference.integer("max_skip_count"),
        inference.integers("ngram_counts"),
        inference.attributes.get("weights"),
    )
    assert starts is not None, "ngram_counts is required"
    if skips < 0:
        raise EvaluationError(f"max_skip_count must be >= 0; got {skips}")
    strings = bool(inference.attributes.get("pool_strings"))
    if strings == bool(inference.attributes.get("pool_int64s")):
        raise EvaluationError("exactly one of pool_int64s and pool_strings must be given")
    dtype = inference.dtype(0)
    if dtype is not None and strings != (dtype is DataType.STRING):
        raise EvaluationError(f"X must have the element type of the pool; got {dtype.name}")
    bounds = inference.integer("min_gram_length"), inference.integer("max_gram_length")
    check_bounds(
        count(inference.attributes, "pool_strings" if strings else "pool_int64s"),
        starts,
        *bounds,
        len(indexes),
    )
    if min(indexes, default=0) < 0:
        raise EvaluationError(f"ngram_indexes must be >= 0; got {min(indexes)}")
    if (
        isinstance(weights, tuple)
        and inference.attributes["mode"] != "TF"
        and len(weights) not in (0, len(indexes))
    ):
        raise EvaluationError(
            f"weights must have {len(indexes)} elements, one per n-gram; got {len(weights)}"
        )


@op.infer(9)
def infer(inference: Inference) -> Result:
    shape, indexes = inference.shape(0), inference.integers("ngram_indexes")
    assert indexes is not None, "ngram_indexes is required"
    try:
        check_pool(inference, indexes)
    except EvaluationError as error:
        inference.fail(error.why)
    if shape is None:
        return TensorType(DataType.FLOAT)
    if len(shape) not in (1, 2):
        inference.fail(f"input 0 must be [C] or [N, C]; got rank {len(shape)}")
    return TensorType(DataType.FLOAT, (*shape[:-1], max(indexes, default=-1) + 1))
