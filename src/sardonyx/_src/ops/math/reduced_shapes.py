"""Shapes, and elements known before a run, of what the reductions give."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, dim_add, dim_max, dim_min, dim_mul, known_ge
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import ValueFacet
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.symbolic import INTEGERS, NUMBERS, fitting, whole
from sardonyx._src.ops.tensor.elements import LIMIT, numbers

Fold = Callable[[list[Dim]], Dim]


def infer(t: Inference) -> Result:
    """The shape of the data with sizes of 1 in place of the axes, or without them."""
    data = t.tensor(0)
    if data is None or data.shape is None:
        return data and TensorType(data.dtype)
    rank, axes = len(data.shape), reduced_axes(t, len(data.shape))
    if axes is None:
        return TensorType(data.dtype, blurred(t, data.shape))
    if t.integer("keepdims"):
        return TensorType(data.dtype, tuple(1 if i in axes else data.shape[i] for i in range(rank)))
    return TensorType(data.dtype, tuple(data.shape[i] for i in range(rank) if i not in axes))


def reduced_axes(t: Inference, rank: int) -> tuple[int, ...] | None:
    """The axes counted from the front, or None where they are an input of unknown elements."""
    named = axes_input(t) if "noop_with_empty_axes" in t.attributes else t.integers("axes") or ()
    if named is None:
        return None
    if not named:
        return () if t.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    axes = tuple(t.axis(axis, rank) for axis in named)
    if len(set(axes)) < len(axes):
        t.fail(f"axes {list(named)} name an axis twice")
    return axes


def axes_input(t: Inference) -> tuple[int, ...] | None:
    dims = t.dims(1) if t.has(1) else ()
    return None if dims is None else numbers(dims)


def blurred(t: Inference, shape: Shape) -> Shape | None:
    """What is known of the shape where the axes are not: sizes of 1 stay when axes are kept, else perhaps the rank."""
    if t.integer("keepdims"):
        return tuple(1 if dim == 1 else None for dim in shape)
    axes = t.dims(1)
    if not axes:
        return None
    if len(axes) > len(shape):
        t.fail(f"there are {len(axes)} axes for data of rank {len(shape)}")
    return (None,) * (len(shape) - len(axes))


# --- elements --------------------------------------------------------------------------------


def folding(fold: Fold, *, only_integers: bool = False) -> ValueFacet:
    """The value facet that gives `fold(elements)` for each set of symbolic elements."""

    def value(t: Inference) -> Known | None:
        found, dtype = t.value(0), t.dtype(0)
        if found is None or found.dtype != np.object_ or found.size > LIMIT:
            return None
        if dtype is None or dtype not in (INTEGERS if only_integers else NUMBERS):
            return None
        axes = reduced_axes(t, found.ndim)
        if axes is None:
            return None
        result = folded(found, axes, bool(t.integer("keepdims")), lambda row: fitting(fold(row), dtype))
        return settled(result, dtype)

    return value


def folded(found: Known, axes: tuple[int, ...], keepdims: bool, fold: Fold) -> Known:
    kept = tuple(i for i in range(found.ndim) if i not in axes)
    rows = math.prod(found.shape[i] for i in kept)
    flat = found.transpose(kept + tuple(sorted(axes))).reshape(rows, found.size // max(rows, 1))
    result = np.empty(rows, np.object_)
    result[:] = [fold([whole(e) for e in row]) for row in flat.tolist()]
    shape = (1 if i in axes else n for i, n in enumerate(found.shape) if keepdims or i not in axes)
    return result.reshape(tuple(shape))


def settled(found: Known, dtype: DataType) -> Known:
    """Known elements in an array of their own type, where all of them are numbers."""
    return found.astype(dtype.numpy) if all(isinstance(e, int) for e in found.flat) else found


def total(dims: list[Dim]) -> Dim:
    return dim_add(0, *dims)


def product(dims: list[Dim]) -> Dim:
    return dim_mul(1, *dims)


def greatest(dims: list[Dim]) -> Dim:
    return dim_max(*dims) if dims else None


def least(dims: list[Dim]) -> Dim:
    return dim_min(*dims) if dims else None


def mean(dims: list[Dim]) -> Dim:
    """The mean, rounded towards zero; None where its sign cannot be told."""
    found = total(dims)
    if found is None or not dims:
        return None
    if isinstance(found, int) and found < 0:
        return -(-found // len(dims))
    return found // len(dims) if len(dims) == 1 or known_ge(found, 0) else None
