"""Tensors held against each other, piece by piece."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array, SparseTensor, Tensor
from sardonyx._src.rewrite.tools.diff.change import Distance

PIECE = 1 << 20  # elements


def type_text(tensor: Tensor | SparseTensor) -> str:
    """Kind, element type and shape."""
    kind = "sparse " if isinstance(tensor, SparseTensor) else ""
    return f"{kind}{tensor.dtype.text}[{','.join(map(str, tensor.shape))}]"


def distance(one: Tensor, other: Tensor) -> Distance | None:
    """How far two tensors of one type and shape are apart; None when every element is equal, NaN included.

    Where the data are stored (in the model, in a file, packed or not) makes no difference; of each tensor only pieces
    are decoded at a time, unless elements are packed into bytes.
    """
    a, b = one.numpy().reshape(-1), other.numpy().reshape(-1)
    if same_bits(a, b):
        return None
    count, worst, relative, squares, own, place = 0, 0.0, 0.0, 0.0, 0.0, 0
    for start in range(0, a.size, PIECE):
        left, right = a[start : start + PIECE], b[start : start + PIECE]
        differs = unequal(left, right, one.dtype)
        size = magnitude(left, one.dtype)
        own += square(size)
        if not differs.any():
            continue
        gap = gaps(left, right, differs, one.dtype)
        count += int(differs.sum())
        squares += square(gap)
        relative = max(relative, ratio(gap[differs], size[differs]))
        if float(gap.max()) > worst:
            worst, place = float(gap.max()), start + int(gap.argmax())
    if not count:
        return None
    at = tuple(int(i) for i in np.unravel_index(place, one.shape)) if one.shape else ()
    return Distance(count, worst, relative, math.sqrt(squares), math.sqrt(own), at)


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays are equal bit by bit, which is quickly told."""
    if a.dtype == np.object_:
        return False
    pieces = range(0, a.size, PIECE)
    return all(np.array_equal(bits(a[i : i + PIECE]), bits(b[i : i + PIECE])) for i in pieces)


def bits(piece: Array) -> Array:
    return np.ascontiguousarray(piece).view(np.uint8)


def square(values: Array) -> float:
    with np.errstate(over="ignore"):
        return float((values**2).sum())


def ratio(gap: Array, size: Array) -> float:
    """The largest gap in relation to the size beside it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return float(np.nan_to_num(gap / size, nan=math.inf, posinf=math.inf).max())


def unequal(a: Array, b: Array, dtype: DataType) -> Array:
    """Which elements differ; two NaNs do not."""
    found = np.asarray(a != b, bool)
    if dtype.is_float or dtype.is_complex:
        found &= ~(np.isnan(a) & np.isnan(b))
    return found


def magnitude(a: Array, dtype: DataType) -> Array:
    """The absolute values as float64, that of a NaN being 0; strings have none."""
    if dtype is DataType.STRING:
        return np.zeros(a.shape)
    wide = np.abs(a.astype(np.complex128 if dtype.is_complex else np.float64))
    return np.nan_to_num(wide, nan=0.0, posinf=math.inf)


def gaps(a: Array, b: Array, differs: Array, dtype: DataType) -> Array:
    """Absolute differences as float64: 0 where elements are equal, 1 between strings, infinite at a NaN of one side."""
    if dtype is DataType.STRING:
        return differs.astype(np.float64)
    if dtype.is_integer:  # modulo 2^64, which the larger less the smaller never reaches
        one, other = a.astype(np.int64).view(np.uint64), b.astype(np.int64).view(np.uint64)
        return np.where(a > b, one - other, other - one).astype(np.float64)
    wide = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.abs(a.astype(wide) - b.astype(wide))
    return np.where(differs, np.nan_to_num(found, nan=math.inf, posinf=math.inf), 0.0)
