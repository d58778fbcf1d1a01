"""Attention heads: splitting and merging, and grouped-query products (several query heads share a key/value head).

Query head h uses key and value head h // (query heads / key heads).
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type

SOFTMAX_PRECISIONS = (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE, DataType.BFLOAT16)


def split_heads(x: Array, heads: int, what: str) -> Array:
    """x: [batch, length, heads * size]; result: [batch, heads, length, size]."""
    batch, length, hidden = x.shape
    if heads < 1 or hidden % heads:
        raise EvaluationError(f"rows of {what} must be a multiple of {heads} heads; got {hidden} elements")
    return x.reshape(batch, length, heads, hidden // heads).swapaxes(1, 2)


def merge_heads(x: Array) -> Array:
    """x: [batch, heads, length, size]; result: [batch, length, heads * size]."""
    batch, heads, length, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, heads * size)


def check_heads(Q: Array, K: Array, V: Array) -> None:
    """Raises EvaluationError unless the shapes of Q, K and V, [batch, heads, length, size] each, are consistent."""
    shapes = f"Q {list(Q.shape)}, K {list(K.shape)}, V {list(V.shape)}"
    if Q.shape[0] != K.shape[0] or K.shape[:3] != V.shape[:3] or Q.shape[3] != K.shape[3]:
        raise EvaluationError(f"Q, K and V must agree in batch, lengths and head sizes; got {shapes}")
    if K.shape[1] == 0 or Q.shape[1] % K.shape[1]:
        raise EvaluationError(f"query heads must be a multiple of key heads; got {shapes}")


def dot_products(Q: Array, K: Array) -> Array:
    """Q: [batch, q_heads, q_length, size], K: [batch, kv_heads, length, size]; result: [batch, q_heads, q_length, length]."""
    return ungroup_heads(group_heads(Q, K.shape[1]) @ K[:, :, None].swapaxes(-1, -2))


def weighted_sums(weights: Array, V: Array) -> Array:
    """weights: [batch, q_heads, q_length, length], V: [batch, kv_heads, length, size]."""
    return ungroup_heads(group_heads(weights, V.shape[1]) @ V[:, :, None])


def group_heads(x: Array, heads: int) -> Array:
    batch, all_heads, *rest = x.shape
    return x.reshape(batch, heads, all_heads // heads, *rest)


def ungroup_heads(x: Array) -> Array:
    batch, heads, group, *rest = x.shape
    return x.reshape(batch, heads * group, *rest)


def softmax_type(precision: int | None, default: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The element type of the attribute softmax_precision; raises EvaluationError for an unsupported one."""
    if precision is None:
        return default
    if precision not in SOFTMAX_PRECISIONS:
        allowed = ", ".join(f"{int(p)} ({p.name})" for p in SOFTMAX_PRECISIONS)
        raise EvaluationError(f"softmax_precision must be one of {allowed}; got {precision}")
    return DataType.from_number(precision).numpy


def softmax(scores: Array) -> Array:
    """Softmax along the last axis, rounded to the type of `scores`; a line of only -inf becomes NaN."""
    wide = promote_to_float32(scores)
    weights = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
    return round_to_type(weights / weights.sum(axis=-1, keepdims=True), scores.dtype)
