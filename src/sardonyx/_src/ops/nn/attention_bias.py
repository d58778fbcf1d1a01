"""The bias added to attention scores: the mask, and -inf for keys outside the causal and window bounds."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.support.arithmetic import promote_to_float32


@dataclass(frozen=True, slots=True)
class KeyVisibility:
    """Which keys each query may attend to, by position.

    past: number of keys before the first query; one number or [batch].
    valid: number of keys that are not padding, [batch]; None if no key is padding.
    causal: whether each query sees only the keys up to its own position.
    left, right: number of keys that a query sees before and after its own position; -1 for all of them.
    """

    past: int | Array
    valid: Array | None = None
    causal: bool = False
    left: int = -1
    right: int = -1

    def mask(self, queries: int, keys: int) -> Array | None:
        """Bool, [batch or 1, 1, queries, keys]; None when every key is visible."""
        position = np.arange(queries)[:, None] + np.reshape(self.past, (-1, 1, 1, 1))
        key = np.arange(keys)
        limits = []
        if self.causal:
            limits.append(key <= position)
        if self.left >= 0:
            limits.append(position - key <= self.left)  # not `position - left`, which can overflow
        if self.right >= 0:
            limits.append(key - position <= self.right)
        if self.valid is not None:
            limits.append(
                np.broadcast_to(key < self.valid.reshape(-1, 1, 1, 1), (len(self.valid), 1, queries, keys))
            )
        return np.logical_and.reduce(np.broadcast_arrays(*limits)) if limits else None


def attention_bias(
    mask: Array | None,
    visibility: KeyVisibility,
    shape: tuple[int, ...],
    dtype: np.dtype[np.generic],
    pads: bool,
) -> Array | None:
    """The bias for scores of `shape` [batch, heads, queries, keys], or None.

    A bool mask gives -inf where it is False; any other mask is added.  With `pads`, keys past the end of a shorter
    mask get -inf.  Raises EvaluationError for a mask that cannot be broadcast to `shape`.
    """
    visible = visibility.mask(*shape[2:])
    bias = None if visible is None else minus_infinity(visible, dtype)
    if mask is None:
        return bias
    added = minus_infinity(mask, dtype) if mask.dtype == np.bool_ else promote_to_float32(mask).astype(dtype)
    if pads and added.ndim and added.shape[-1] < shape[-1]:
        widths = [(0, 0)] * (added.ndim - 1) + [(0, shape[-1] - added.shape[-1])]
        added = np.pad(added, widths, constant_values=-np.inf)
    if not can_broadcast(added.shape, shape):
        raise EvaluationError(f"attn_mask must broadcast to {list(shape)}; got shape {list(mask.shape)}")
    return np.atleast_1d(added if bias is None else added + bias)


def minus_infinity(visible: Array, dtype: np.dtype[np.generic]) -> Array:
    """-inf where `visible` is False, else 0."""
    return np.where(visible, 0.0, -np.inf).astype(dtype)


def can_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can be broadcast to `target`."""
    if len(shape) > len(target):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False))
