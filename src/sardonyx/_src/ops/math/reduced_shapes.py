"""Infer and value facets of the reductions.

A value facet computes the elements of a result where inference knows those of the data.  These elements are numbers,
expressions of dims such as N + 1 ("symbolic" elements), or None, which is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Shape, TensorType
from sardonyx._src.ir.dims import Dim, dim_add, dim_max, dim_min
from sardonyx._src.ops.api import ValueFacet
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.div import truncated_dim
from sardonyx._src.ops.math.symbolic import SYMBOLIC_INTEGERS, SYMBOLIC_NUMBERS, drop_overflow, whole_number
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, numbers

Fold = Callable[[list[Dim]], Dim]  # reduces known elements to one


def infer(inference: Inference) -> Result:
    """The shape of the data with the reduced axes of size 1, or without them."""
    data = inference.tensor(0)
    if data is None or data.shape is None:
        return data and TensorType(data.dtype)
    rank, axes = len(data.shape), reduced_axes(inference, len(data.shape))
    if axes is None:
        return TensorType(data.dtype, shape_of_unknown_axes(inference, data.shape))
    if inference.integer("keepdims"):
        return TensorType(data.dtype, tuple(1 if i in axes else data.shape[i] for i in range(rank)))
    return TensorType(data.dtype, tuple(data.shape[i] for i in range(rank) if i not in axes))


def reduced_axes(inference: Inference, rank: int) -> tuple[int, ...] | None:
    """The axes counted from the front; None if they are an input whose elements are unknown."""
    named = (
        axes_input(inference)
        if "noop_with_empty_axes" in inference.attributes
        else inference.integers("axes") or ()
    )
    if named is None:
        return None
    if not named:
        return () if inference.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    axes = tuple(inference.axis(axis, rank) for axis in named)
    if len(set(axes)) < len(axes):
        inference.fail(f"axes {list(named)} name an axis twice")
    return axes


def axes_input(inference: Inference) -> tuple[int, ...] | None:
    dims = inference.dims(1) if inference.has(1) else ()
    return None if dims is None else numbers(dims)


def shape_of_unknown_axes(inference: Inference, shape: Shape) -> Shape | None:
    """The shape for unknown axes: dims of 1 stay with keepdims; else only the rank may be known."""
    if inference.integer("keepdims"):
        return tuple(1 if dim == 1 else None for dim in shape)
    axes = inference.dims(1)
    if not axes:
        return None
    if len(axes) > len(shape):
        inference.fail(f"axes must have at most {len(shape)} elements, the rank of data; got {len(axes)}")
    return (None,) * (len(shape) - len(axes))


# --- elements --------------------------------------------------------------------------------


def make_value_facet(fold: Fold, *, only_integers: bool = False) -> ValueFacet:
    """The value facet that reduces each set of elements by `fold`, if any of them is symbolic.

    only_integers: whether `fold` rounds, so that it does not hold for sizes that a model computes in floats.
    """

    def value(inference: Inference) -> Known | None:
        elements, dtype = inference.value(0), inference.dtype(0)
        if elements is None or elements.dtype != np.object_ or elements.size > MAX_KNOWN_ELEMENTS:
            return None
        if dtype is None or dtype not in (SYMBOLIC_INTEGERS if only_integers else SYMBOLIC_NUMBERS):
            return None
        axes = reduced_axes(inference, elements.ndim)
        if axes is None:
            return None
        result = fold_axes(
            elements, axes, bool(inference.integer("keepdims")), lambda row: drop_overflow(fold(row), dtype)
        )
        return concretize(result, dtype)

    return value


def fold_axes(elements: Known, axes: tuple[int, ...], keepdims: bool, fold: Fold) -> Known:
    """The elements reduced by `fold` along the axes; a float that is no whole number counts as unknown."""
    outer_axes = tuple(i for i in range(elements.ndim) if i not in axes)
    rows = math.prod(elements.shape[i] for i in outer_axes)
    flat = elements.transpose(outer_axes + tuple(sorted(axes))).reshape(rows, elements.size // max(rows, 1))
    result = np.empty(rows, np.object_)
    result[:] = [fold([whole_number(e) for e in row]) for row in flat.tolist()]
    shape = (1 if i in axes else n for i, n in enumerate(elements.shape) if keepdims or i not in axes)
    return result.reshape(tuple(shape))


def concretize(elements: Known, dtype: DataType) -> Known:
    """The elements as an array of `dtype` if all of them are numbers; else the array of objects itself."""
    return elements.astype(dtype.numpy) if all(isinstance(e, int) for e in elements.flat) else elements


def total(dims: list[Dim]) -> Dim:
    return dim_add(0, *dims)


def greatest(dims: list[Dim]) -> Dim:
    return dim_max(*dims) if dims else None


def least(dims: list[Dim]) -> Dim:
    return dim_min(*dims) if dims else None


def mean(dims: list[Dim]) -> Dim:
    """The mean, rounded toward zero."""
    sum_ = total(dims)
    return None if sum_ is None or not dims else truncated_dim(sum_, len(dims))
