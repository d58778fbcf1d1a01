"""The axes of a normalization, and its scale and bias."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.rewrite.engine.match import Match

NORMALIZED_TYPES = (
    DataType.FLOAT,
    DataType.FLOAT16,
    DataType.BFLOAT16,
)  # normalization operators compute in float32 for these element types


def first_normalized_axis(match: Match) -> int | None:
    """The first normalized axis, if all later axes are normalized too; None if not, or unknown."""
    inferred = match.edit.type(match.value("x"))
    if (
        not isinstance(inferred, TensorType)
        or inferred.shape is None
        or inferred.dtype not in NORMALIZED_TYPES
    ):
        return None
    rank = len(inferred.shape)
    if "axes" in match.values:
        constant = match.constant("axes")
        axes = None if constant is None else tuple(constant.reshape(-1).tolist())
    else:
        axes = match.integers("axes")
    if not axes or not all(-rank <= axis < rank for axis in axes):
        return None
    normalized = sorted(axis % rank for axis in axes)
    return normalized[0] if normalized == list(range(normalized[0], rank)) else None


def broadcasts_to_axes(match: Match, name: str, axis: int) -> bool:
    """Whether a scale or bias broadcasts to the normalized axes, and covers no others."""
    x, shape = match.edit.shape(match.value("x")), match.edit.shape(match.value(name))
    if x is None or shape is None or len(shape) > len(x) - axis:
        return False
    trailing = x[len(x) - len(shape) :]
    return all(n == 1 or (n is not None and n == size) for n, size in zip(shape, trailing, strict=True))


def per_channel(match: Match, name: str, channels: int) -> Array | None:
    """A constant as one number per channel, axis 1 of x; None if it varies within a channel."""
    data, rank = match.constant(name), match.rank("x")
    if data is None or rank is None or data.ndim > rank:
        return None
    shape = (1,) * (rank - data.ndim) + data.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1) or shape[1] not in (1, channels):
        return None
    return np.ascontiguousarray(np.broadcast_to(data.reshape(-1), (channels,)))
