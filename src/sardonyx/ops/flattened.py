"""The two-dimensional view that operators of the first opsets work on."""

from __future__ import annotations

import math

from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array


def flattened(x: Array, axis: int) -> Array:
    """x as [d0*...*d(axis-1), d(axis)*...*dk]; `axis` may be the rank, and counts from the back when negative."""
    if not -x.ndim <= axis <= x.ndim:
        raise EvaluationError(f"axis {axis} lies outside of -{x.ndim} to {x.ndim}")
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
