"""TfIdfVectorizer: how often n-grams of a pool are found in rows of tokens, weighted if asked for.

Spec: ai.onnx TfIdfVectorizer-9.  Tokens of an n-gram stand 1 to max_skip_count + 1 places apart, all at the same distance;
single tokens count once.  Each n-gram has its own weight and its place in the result; where two have the same place
they are added up.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.class_labels import count
from sardonyx._src.ops.ml.lookup import texts
from sardonyx._src.ops.text.ngrams import Pool, check_bounds

op = Operator("TfIdfVectorizer", tolerance="rounding")
MODES = ("TF", "IDF", "TFIDF")


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
    call: Call,
) -> Array:
    """X: [C] or [N, C] int32, int64 or strings; result: [max(ngram_indexes) + 1] or [N, ...] float32."""
    if X.ndim not in (1, 2):
        raise EvaluationError(f"X has shape {list(X.shape)}, where [C] or [N, C] is wanted")
    if mode not in MODES:
        raise EvaluationError(f"mode is {mode!r}, where {', '.join(MODES)} are known")
    if max_skip_count < 0:
        raise EvaluationError(f"max_skip_count is {max_skip_count}, where 0 or more is wanted")
    tokens = pool_tokens(X, pool_int64s, pool_strings)
    pool = Pool.of(tokens, ngram_counts, min_gram_length, max_gram_length, len(ngram_indexes))
    places = np.array(ngram_indexes, np.int64)
    if (places < 0).any():
        raise EvaluationError(f"ngram_indexes has {places.min()}, where places are wanted")
    scale = np.ones(len(places)) if not weights or mode == "TF" else np.array(weights, np.float64)
    if len(scale) != len(places):
        raise EvaluationError(f"weights has {len(scale)} elements for {len(places)} n-grams")
    rows = np.atleast_2d(X)
    width = int(places.max(initial=-1)) + 1
    claim(call, (len(rows), width), np.float64, "TfIdfVectorizer result")
    found, counts = pool.counts(rows, max_skip_count)
    row, ngram = np.divmod(found, max(1, len(places)))
    amount = np.minimum(counts, 1) if mode == "IDF" else counts
    flat = np.bincount(row * width + places[ngram], amount * scale[ngram], minlength=len(rows) * width)
    result = flat.reshape(len(rows), width).astype(np.float32)
    return result if X.ndim == 2 else result[0]


def pool_tokens(X: Array, int64s: tuple[int, ...] | None, strings: tuple[str, ...] | None) -> Array:
    if bool(int64s) == bool(strings):
        raise EvaluationError("exactly one of pool_int64s and pool_strings is wanted")
    if bool(strings) != (X.dtype.kind == "O"):
        raise EvaluationError(f"X has elements of {DataType.of(X.dtype).name}, which the pool has not")
    return texts(strings) if strings else np.array(int64s, np.int64)


def check_pool(t: Inference, places: tuple[int, ...]) -> None:
    """Raises EvaluationError for a pool that cannot be cut into n-grams, or that has not the elements of the input."""
    skips, starts, weights = (
        t.integer("max_skip_count"),
        t.integers("ngram_counts"),
        t.attributes.get("weights"),
    )
    assert starts is not None, "ngram_counts is required"
    if skips < 0:
        raise EvaluationError(f"max_skip_count is {skips}, where 0 or more is wanted")
    strings = bool(t.attributes.get("pool_strings"))
    if strings == bool(t.attributes.get("pool_int64s")):
        raise EvaluationError("exactly one of pool_int64s and pool_strings is wanted")
    dtype = t.dtype(0)
    if dtype is not None and strings != (dtype is DataType.STRING):
        raise EvaluationError(f"X has elements of {dtype.name}, which the pool has not")
    bounds = t.integer("min_gram_length"), t.integer("max_gram_length")
    check_bounds(
        count(t.attributes, "pool_strings" if strings else "pool_int64s"), starts, *bounds, len(places)
    )
    if min(places, default=0) < 0:
        raise EvaluationError(f"ngram_indexes has {min(places)}, where places are wanted")
    if isinstance(weights, tuple) and t.attributes["mode"] != "TF" and len(weights) not in (0, len(places)):
        raise EvaluationError(f"weights has {len(weights)} elements for {len(places)} n-grams")


@op.infer(9)
def infer(t: Inference) -> Result:
    shape, places = t.shape(0), t.integers("ngram_indexes")
    assert places is not None, "ngram_indexes is required"
    try:
        check_pool(t, places)
    except EvaluationError as error:
        t.fail(error.why)
    if shape is None:
        return TensorType(DataType.FLOAT)
    if len(shape) not in (1, 2):
        t.fail(f"input 0 has rank {len(shape)}, where [C] or [N, C] is wanted")
    return TensorType(DataType.FLOAT, (*shape[:-1], max(places, default=-1) + 1))
