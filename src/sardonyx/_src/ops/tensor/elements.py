"""Known elements of shape arithmetic: small tensors of numbers, expressions and unknowns, moved like data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import wraps

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import InferFacet, ValueFacet
from sardonyx._src.ops.inference import Inference, Known

LIMIT = 4096  # elements; shapes have tens, and larger constants are better computed than followed


def elements(t: Inference, i: int) -> Known | None:
    """What is known of the elements of input i, at most LIMIT of them.

    Where only the shape of an integer tensor is known, its elements are so many unknowns.
    """
    found = t.value(i)
    if found is not None:
        return found if found.size <= LIMIT else None
    shape, dtype = t.shape(i), t.dtype(i)
    if shape is None or dtype not in (DataType.INT64, DataType.INT32):
        return None
    sizes = numbers(shape)
    return None if sizes is None or math.prod(sizes) > LIMIT else np.full(sizes, None, np.object_)


def numbers(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    """The dims, where every one is a number."""
    found = tuple(dim for dim in dims if isinstance(dim, int))
    return found if len(found) == len(dims) else None


def vector(dims: Sequence[Dim]) -> Known:
    """The dims as a tensor of rank 1: of int64 when all are numbers, else of objects."""
    sizes = numbers(dims)
    if sizes is not None:
        return np.array(sizes, np.int64)
    result = np.empty(len(dims), np.object_)
    result[:] = dims
    return result


def settled(facet: ValueFacet) -> ValueFacet:
    """Wraps a value facet that moves elements of input 0: where only numbers are left, they have its type again."""

    @wraps(facet)
    def value(t: Inference) -> Known | None:
        found = facet(t)
        if (
            found is None
            or found.dtype.kind != "O"
            or not all(isinstance(e, int) for e in found.reshape(-1).tolist())
        ):
            return found
        dtype = t.dtype(0)
        return found.astype(np.int64 if dtype is None else dtype.numpy)

    return value


def reshaping(infer: InferFacet) -> ValueFacet:
    """The value facet of an operator that keeps the elements of input 0 in order, in the shape that `infer` finds."""

    def value(t: Inference) -> Known | None:
        found = elements(t, 0)
        answer = None if found is None else infer(t)
        if found is None or not isinstance(answer, TensorType) or answer.shape is None:
            return None
        sizes = numbers(answer.shape)
        return None if sizes is None or math.prod(sizes) != found.size else found.reshape(sizes)

    return value
