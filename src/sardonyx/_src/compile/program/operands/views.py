"""Reshapes and slices as views: the strides of the same elements under other dims, where the old strides allow it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from sardonyx._src.compile.program import TensorView, row_major_strides
from sardonyx._src.ir.dims import Known, dim_product, known_equal

DimGroup: TypeAlias = tuple[
    list[int], list[int]
]  # indices of old and of new dims that hold the same elements


def reshape_view(tensor: TensorView, shape: Sequence[Known]) -> TensorView | None:
    """The same elements under other dims; None if that requires a copy, or the numbers of elements are not proved equal."""
    shape = tuple(shape)
    if tensor.is_dense:
        return tensor.reshape(shape) if known_equal(tensor.num_elements, dim_product(shape)) else None
    groups = group_dims(tensor.shape, shape)
    if groups is None:
        return None
    strides: dict[int, Known] = {}
    for old_dims, new_dims in groups:
        inner = coalesced_stride([(tensor.shape[i], tensor.strides[i]) for i in old_dims])
        if inner is None:
            return None
        for i, stride in zip(new_dims, row_major_strides([shape[i] for i in new_dims]), strict=True):
            strides[i] = stride * inner
    return replace(tensor, shape=shape, strides=tuple(strides[i] for i in range(len(shape))))


def coalesced_stride(dims: Sequence[tuple[Known, Known]]) -> Known | None:
    """The innermost stride of adjacent (dim, stride) pairs that coalesce into one dim; None if they do not."""
    real = [(dim, stride) for dim, stride in dims if dim != 1]
    for (_, outer), (dim, inner) in itertools.pairwise(real):
        if outer != dim * inner:
            return None
    return real[-1][1] if real else 1


def group_dims(old: Sequence[Known], new: Sequence[Known]) -> list[DimGroup] | None:
    """The shortest groups of adjacent old and new dims with equal products; None if there are none."""
    groups: list[DimGroup] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(left), j + len(right)
        while (a := dim_product([old[k] for k in left])) != (b := dim_product([new[k] for k in right])):
            if j < len(new) and (i >= len(old) or not is_smaller(a, b)):
                right.append(j)
                j += 1
            elif i < len(old):
                left.append(i)
                i += 1
            else:
                return None
        groups.append((left, right))
    return groups


def is_smaller(a: Known, b: Known) -> bool:
    """Whether product `a` needs more factors to reach product `b`.  A number is smaller than any expression, which must contain it."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return isinstance(a, int)


def slice_axis(tensor: TensorView, axis: int, first: Known, size: Known, step: Known = 1) -> TensorView:
    """A view of `size` elements along an axis: first, first + step, and so on."""
    shape, strides = list(tensor.shape), list(tensor.strides)
    offset = tensor.offset + first * strides[axis]
    shape[axis], strides[axis] = size, strides[axis] * step
    return replace(tensor, shape=tuple(shape), strides=tuple(strides), offset=offset)
