"""What is added to attention scores: the caller's mask, and -inf where a query may not look at a key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.arithmetic import widen


@dataclass(frozen=True, slots=True)
class Reach:
    """Which keys a query may look at, by place.

    past: keys before the first query, one number or [batch]; valid: keys that are no padding, [batch], or None;
    left and right: how many places a query looks back and ahead, -1 for as far as there is.
    """

    past: int | Array
    valid: Array | None = None
    causal: bool = False
    left: int = -1
    right: int = -1

    def allowed(self, queries: int, keys: int) -> Array | None:
        """Bool, [batch or 1, 1, queries, keys]; None where every key is in reach."""
        place = np.arange(queries)[:, None] + np.reshape(self.past, (-1, 1, 1, 1))
        key = np.arange(keys)
        limits = []
        if self.causal:
            limits.append(key <= place)
        if self.left >= 0:
            limits.append(key >= place - self.left)
        if self.right >= 0:
            limits.append(key <= place + self.right)
        if self.valid is not None:
            limits.append(
                np.broadcast_to(key < self.valid.reshape(-1, 1, 1, 1), (len(self.valid), 1, queries, keys))
            )
        return np.logical_and.reduce(np.broadcast_arrays(*limits)) if limits else None


def attention_bias(
    mask: Array | None, reach: Reach, shape: tuple[int, ...], dtype: np.dtype[np.generic], pads: bool
) -> Array | None:
    """The sum of what the mask and the reach add to scores of `shape`: [batch, heads, queries, keys]; None for nothing.

    A mask of bool is -inf where it is False; any other is added.  With `pads`, a mask of fewer keys is -inf for the
    others.  Raises EvaluationError for a mask that cannot be broadcast to `shape`.
    """
    allowed = reach.allowed(*shape[2:])
    bias = None if allowed is None else minus_infinity(allowed, dtype)
    if mask is None:
        return bias
    added = minus_infinity(mask, dtype) if mask.dtype == np.bool_ else widen(mask).astype(dtype)
    if pads and added.ndim and added.shape[-1] < shape[-1]:
        widths = [(0, 0)] * (added.ndim - 1) + [(0, shape[-1] - added.shape[-1])]
        added = np.pad(added, widths, constant_values=-np.inf)
    if not fits(added.shape, shape):
        raise EvaluationError(f"attn_mask of shape {list(mask.shape)} cannot be broadcast to {list(shape)}")
    return np.atleast_1d(added if bias is None else added + bias)


def minus_infinity(allowed: Array, dtype: np.dtype[np.generic]) -> Array:
    return np.where(allowed, 0.0, -np.inf).astype(dtype)


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can be broadcast to `wanted`."""
    if len(shape) > len(wanted):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(wanted), strict=False))
