"""Comparison of tensors in chunks."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, SparseTensor, Tensor
from sardonyx._src.tools.diff.difference import Distance

CHUNK_ELEMENTS = 1 << 20  # elements that are decoded at a time


def type_text(tensor: Tensor | SparseTensor) -> str:
    """Kind, element type and shape."""
    kind = "sparse " if isinstance(tensor, SparseTensor) else ""
    return f"{kind}{tensor.dtype.text}[{','.join(map(str, tensor.shape))}]"


def distance(left: Tensor, right: Tensor) -> Distance | None:
    """The distance of two tensors of equal type and shape; None if all elements are equal, NaN included.

    The storage of the data (embedded, external, packed) does not matter.  Chunks are decoded one at a time, unless
    elements are packed into bytes.
    """
    a, b = left.numpy().reshape(-1), right.numpy().reshape(-1)
    if same_bits(a, b):
        return None
    count, worst, relative, squares, own, place = 0, 0.0, 0.0, 0.0, 0.0, 0
    for start in range(0, a.size, CHUNK_ELEMENTS):
        left_piece, right_piece = a[start : start + CHUNK_ELEMENTS], b[start : start + CHUNK_ELEMENTS]
        differs = unequal(left_piece, right_piece, left.dtype)
        size = magnitude(left_piece, left.dtype)
        own += square(size)
        if not differs.any():
            continue
        gap = gaps(left_piece, right_piece, differs, left.dtype)
        count += int(differs.sum())
        squares += square(gap)
        relative = max(relative, ratio(gap[differs], size[differs]))
        if float(gap.max()) > worst:
            worst, place = float(gap.max()), start + int(gap.argmax())
    if not count:
        return None
    index = tuple(int(i) for i in np.unravel_index(place, left.shape)) if left.shape else ()
    return Distance(count, worst, relative, math.sqrt(squares), math.sqrt(own), index)


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays are bitwise equal, which is a fast check."""
    if a.dtype == np.object_:
        return False
    starts = range(0, a.size, CHUNK_ELEMENTS)
    return all(
        np.array_equal(bits(a[start : start + CHUNK_ELEMENTS]), bits(b[start : start + CHUNK_ELEMENTS]))
        for start in starts
    )


def bits(chunk: Array) -> Array:
    return np.ascontiguousarray(chunk).view(np.uint8)


def square(values: Array) -> float:
    with np.errstate(over="ignore"):
        return float((values**2).sum())


def ratio(gap: Array, size: Array) -> float:
    """The largest ratio of a gap to the magnitude at its index."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float(np.nan_to_num(gap / size, nan=math.inf, posinf=math.inf).max())


def unequal(a: Array, b: Array, dtype: DataType) -> Array:
    """Which elements differ; two NaNs do not."""
    differs = np.asarray(a != b, bool)
    if dtype.is_float or dtype.is_complex:
        differs &= ~(np.isnan(a) & np.isnan(b))
    return differs


def magnitude(a: Array, dtype: DataType) -> Array:
    """The absolute values as float64; 0 for NaN and strings."""
    if dtype is DataType.STRING:
        return np.zeros(a.shape)
    wide = np.abs(a.astype(np.complex128 if dtype.is_complex else np.float64))
    return np.nan_to_num(wide, nan=0.0, posinf=math.inf)


def gaps(a: Array, b: Array, differs: Array, dtype: DataType) -> Array:
    """Absolute differences as float64: 0 for equal elements, 1 for different strings, infinite if one is NaN."""
    if dtype is DataType.STRING:
        return differs.astype(np.float64)
    if dtype.is_integer:  # larger minus smaller fits into uint64; the arithmetic is modulo 2^64
        left, right = a.astype(np.int64).view(np.uint64), b.astype(np.int64).view(np.uint64)
        return np.where(a > b, left - right, right - left).astype(np.float64)
    wide = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a.astype(wide) - b.astype(wide))
    return np.where(differs, np.nan_to_num(gap, nan=math.inf, posinf=math.inf), 0.0)
