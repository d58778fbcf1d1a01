"""Reshaped tensors without a copy, where strides allow it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.tensor import Tensor, row_major
from sardonyx._src.ir.dims import Known, known_equal

Group = tuple[list[int], list[int]]  # dims before and after that hold the same elements


def viewed(tensor: Tensor, shape: Sequence[Known]) -> Tensor | None:
    """The same elements under other dims; None where that takes a copy, or where it is not known to fit."""
    shape = tuple(shape)
    if tensor.is_dense:
        return tensor.reshaped(shape) if known_equal(tensor.count, total(shape)) else None
    found = groups(tensor.shape, shape)
    if found is None:
        return None
    strides: dict[int, Known] = {}
    for before, after in found:
        inner = merged([(tensor.shape[i], tensor.strides[i]) for i in before])
        if inner is None:
            return None
        for i, stride in zip(after, row_major([shape[i] for i in after]), strict=True):
            strides[i] = stride * inner
    return replace(tensor, shape=shape, strides=tuple(strides[i] for i in range(len(shape))))


def total(dims: Sequence[Known]) -> Known:
    found: Known = 1
    for dim in dims:
        found = found * dim
    return found


def merged(dims: Sequence[tuple[Known, Known]]) -> Known | None:
    """The stride of the innermost of some dims, if they could be one dim; None otherwise."""
    real = [(dim, stride) for dim, stride in dims if dim != 1]
    for (_, outer), (dim, inner) in itertools.pairwise(real):
        if outer != dim * inner:
            return None
    return real[-1][1] if real else 1


def groups(before: Sequence[Known], after: Sequence[Known]) -> list[Group] | None:
    """Dims of both sides in runs of equal products, as short as they can be; None if there are none."""
    found: list[Group] = []
    i = j = 0
    while i < len(before) or j < len(after):
        left, right = [i] if i < len(before) else [], [j] if j < len(after) else []
        i, j = i + len(left), j + len(right)
        while total([before[k] for k in left]) != total([after[k] for k in right]):
            a, b = total([before[k] for k in left]), total([after[k] for k in right])
            if j < len(after) and (i >= len(before) or not is_smaller(a, b)):
                right.append(j)
                j += 1
            elif i < len(before):
                left.append(i)
                i += 1
            else:
                return None
        found.append((left, right))
    return found


def is_smaller(a: Known, b: Known) -> bool:
    """Whether a product is known to need more factors than another one to be as large."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return isinstance(a, int)
