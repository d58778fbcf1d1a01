"""Which axes a normalization goes over, and whether scale and bias fit them."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.rewrite.match import Match

STASHED = (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16)  # that normalizations compute in float


def first_axis(m: Match) -> int | None:
    """The axis from which on everything is averaged; None where that is not so, or not known."""
    found = m.edit.type(m.value("x"))
    if not isinstance(found, TensorType) or found.shape is None or found.dtype not in STASHED:
        return None
    rank = len(found.shape)
    if "axes" in m.values:
        constant = m.constant("axes")
        axes = None if constant is None else tuple(constant.reshape(-1).tolist())
    else:
        axes = m.integers("axes")
    if not axes or not all(-rank <= axis < rank for axis in axes):
        return None
    chosen = sorted(axis % rank for axis in axes)
    return chosen[0] if chosen == list(range(chosen[0], rank)) else None


def fits(m: Match, name: str, axis: int) -> bool:
    """Whether a scale or bias stretches to the axes that are averaged, and no further."""
    x, found = m.edit.shape(m.value("x")), m.edit.shape(m.value(name))
    if x is None or found is None or len(found) > len(x) - axis:
        return False
    own = x[len(x) - len(found) :]
    return all(n == 1 or (n is not None and n == size) for n, size in zip(found, own, strict=True))


def by_channel(m: Match, name: str, channels: int) -> Array | None:
    """A constant as one number for each channel, axis 1 of x; None where it differs within a channel."""
    data, rank = m.constant(name), m.rank("x")
    if data is None or rank is None or data.ndim > rank:
        return None
    shape = (1,) * (rank - data.ndim) + data.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1) or shape[1] not in (1, channels):
        return None
    return np.ascontiguousarray(np.broadcast_to(data.reshape(-1), (channels,)))
