"""Known elements: elements of small tensors that inference computes before a run, so that shapes made of them are known.

A known element is a number, an expression of dims such as N + 1, or None, which is unknown.  Value facets propagate
arrays of known elements as kernels propagate data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import wraps

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import InferFacet, ValueFacet
from sardonyx._src.ops.inference import Inference, Known

MAX_KNOWN_ELEMENTS = 4096  # shapes have tens of elements; larger constants are cheaper to compute in a run
SIZE_TYPES = (DataType.INT64, DataType.INT32)  # integer types in which models compute sizes


def elements(inference: Inference, i: int) -> Known | None:
    """The known elements of input i; None if there are more than MAX_KNOWN_ELEMENTS or nothing is known.

    For a tensor of integers of which only the shape is known, every element is None (unknown).
    """
    known = inference.value(i)
    if known is not None:
        return known if known.size <= MAX_KNOWN_ELEMENTS else None
    shape, dtype = inference.shape(i), inference.dtype(i)
    if shape is None or dtype not in SIZE_TYPES:
        return None
    sizes = numbers(shape)
    return (
        None if sizes is None or math.prod(sizes) > MAX_KNOWN_ELEMENTS else np.full(sizes, None, np.object_)
    )


def numbers(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    """The dims as numbers; None unless every one is known."""
    known = tuple(dim for dim in dims if isinstance(dim, int))
    return known if len(known) == len(dims) else None


def vector(dims: Sequence[Dim]) -> Known:
    """The dims as a tensor of rank 1: of int64 when all are numbers, else of objects."""
    sizes = numbers(dims)
    if sizes is not None:
        return np.array(sizes, np.int64)
    result = np.empty(len(dims), np.object_)
    result[:] = dims
    return result


def restore_element_type(facet: ValueFacet) -> ValueFacet:
    """Wraps a value facet that moves elements of input 0: results of numbers only get the element type of input 0."""

    @wraps(facet)
    def value(inference: Inference) -> Known | None:
        known = facet(inference)
        if (
            known is None
            or known.dtype.kind != "O"
            or not all(isinstance(e, int) for e in known.reshape(-1).tolist())
        ):
            return known
        dtype = inference.dtype(0)
        return known.astype(np.int64 if dtype is None else dtype.numpy)

    return value


def are_operands_known(inference: Inference) -> bool:
    """Whether the elements of all inputs but the first are known, such as those of a shape.

    If they are not, a run may feed invalid ones, and must compute the operator to detect this.
    """
    return all(
        is_fully_known(inference.value(i)) for i in range(1, len(inference.inputs)) if inference.has(i)
    )


def is_fully_known(elements: Known | None) -> bool:
    """Whether every element is a number or an expression, and none is None."""
    return elements is not None and None not in elements.reshape(-1).tolist()


def reshape_value_facet(infer: InferFacet) -> ValueFacet:
    """The value facet of an operator that only reshapes input 0, to the shape that `infer` returns."""

    def value(inference: Inference) -> Known | None:
        known = elements(inference, 0) if are_operands_known(inference) else None
        result_type = None if known is None else infer(inference)
        if known is None or not isinstance(result_type, TensorType) or result_type.shape is None:
            return None
        sizes = numbers(result_type.shape)
        return None if sizes is None or math.prod(sizes) != known.size else known.reshape(sizes)

    return value
