"""Attention heads: taking them out of packed rows, and products in which several query heads share one of key and value.

Query head h goes with the key and value head h // (query heads / key heads).
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import narrow, widen

PRECISIONS = (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16)


def split_heads(x: Array, heads: int, what: str) -> Array:
    """x: [batch, length, heads * size]; result: [batch, heads, length, size]."""
    batch, length, hidden = x.shape
    if heads < 1 or hidden % heads:
        raise EvaluationError(f"{what} has rows of {hidden} elements, which {heads} heads cannot share")
    return x.reshape(batch, length, heads, hidden // heads).swapaxes(1, 2)


def merge_heads(x: Array) -> Array:
    """x: [batch, heads, length, size]; result: [batch, length, heads * size]."""
    batch, heads, length, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, heads * size)


def check_heads(Q: Array, K: Array, V: Array) -> None:
    """Raises EvaluationError unless Q, K and V, [batch, heads, length, size] each, can be used together."""
    shapes = f"Q {list(Q.shape)}, K {list(K.shape)}, V {list(V.shape)}"
    if Q.shape[0] != K.shape[0] or K.shape[:3] != V.shape[:3] or Q.shape[3] != K.shape[3]:
        raise EvaluationError(f"{shapes} do not fit together")
    if K.shape[1] == 0 or Q.shape[1] % K.shape[1]:
        raise EvaluationError(f"{shapes}: the number of query heads is no multiple of that of key heads")


def dot_products(Q: Array, K: Array) -> Array:
    """Q: [batch, q_heads, q_length, size], K: [batch, kv_heads, length, size]; result: [batch, q_heads, q_length, length]."""
    return ungrouped(grouped(Q, K.shape[1]) @ K[:, :, None].swapaxes(-1, -2))


def weighted_sums(weights: Array, V: Array) -> Array:
    """weights: [batch, q_heads, q_length, length], V: [batch, kv_heads, length, size]."""
    return ungrouped(grouped(weights, V.shape[1]) @ V[:, :, None])


def grouped(x: Array, heads: int) -> Array:
    batch, all_heads, *rest = x.shape
    return x.reshape(batch, heads, all_heads // heads, *rest)


def ungrouped(x: Array) -> Array:
    batch, heads, group, *rest = x.shape
    return x.reshape(batch, heads * group, *rest)


def softmax_type(precision: int | None, default: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type that the attribute softmax_precision names; raises EvaluationError for one that is not allowed."""
    if precision is None:
        return default
    if precision not in PRECISIONS:
        allowed = ", ".join(f"{int(p)} ({p.name})" for p in PRECISIONS)
        raise EvaluationError(f"softmax_precision is {precision}; {allowed} are allowed")
    return DataType.numbered(precision).numpy


def softmax(scores: Array) -> Array:
    """Along the last axis, in the type of `scores`; a line of -inf alone becomes NaN."""
    wide = widen(scores)
    weights = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
    return narrow(weights / weights.sum(axis=-1, keepdims=True), scores.dtype)
