"""Declared shapes of request tensors, checked before anything is allocated for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.arguments import shown
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure

MAX_RANK = 32
MAX_DIM = 1 << 40  # bounds each dim, since a product with a dim of 0 bounds none


def check_shape(name: str, shape: object) -> tuple[int, ...]:
    """The shape of a request tensor; raises RequestFailure unless it is a list of sizes.

    The number of elements is not limited here; `check_count` compares it with the data.
    """
    if not isinstance(shape, list | tuple) or len(shape) > MAX_RANK:
        why = f"shape of input {name!r} must be a list of at most {MAX_RANK} sizes; got {shown(shape)}"
        raise RequestFailure(FailureKind.INVALID, why)
    for dim in shape:
        if type(dim) is not int or not 0 <= dim <= MAX_DIM:
            why = f"shape of input {name!r} must have sizes from 0 to {MAX_DIM}; got {shown(dim)}"
            raise RequestFailure(FailureKind.INVALID, why)
    return tuple(shape)


def check_count(name: str, shape: Sequence[int], count: int) -> None:
    """Raises RequestFailure unless a tensor of this shape has `count` elements."""
    if (expected := math.prod(shape)) != count:
        why = f"data of input {name!r} must have {expected} elements for shape {list(shape)}; got {count}"
        raise RequestFailure(FailureKind.INVALID, why)
