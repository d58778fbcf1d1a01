"""Unique: the distinct elements of a tensor, or the distinct slices of an axis.

Spec: ai.onnx Unique-11, -28, which differ in element types.  Slices are ordered lexicographically.  All NaN count as one
value, the last in order; 0 and -0 count as one value.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.shapes import axis_of, element_count

op = Operator("Unique")


@op.infer(11, 28)
def infer(inference: Inference) -> Result:
    data, axis = inference.tensor(0), inference.attributes.get("axis")
    count = inference.new_dim()
    counted = TensorType(DataType.INT64, (count,))
    if data is None:
        return None, counted, TensorType(DataType.INT64, (None,)), counted
    size: Dim = None
    shape: tuple[Dim, ...] | None = (count,)
    if not isinstance(axis, int):
        size = None if data.shape is None else element_count(data.shape)
    elif data.shape is None:
        shape = None
    else:
        axis = inference.axis(axis, len(data.shape))
        size, shape = data.shape[axis], (*data.shape[:axis], count, *data.shape[axis + 1 :])
    return TensorType(data.dtype, shape), counted, TensorType(DataType.INT64, (size,)), counted


@op.eval(11, 28)
def evaluate(X: Array, *, axis: int | None = None, sorted: int) -> tuple[Array, Array, Array, Array]:
    """The m distinct slices, [..., m, ...]; and as int64: the index at which each of them first occurs, [m]; for each slice
    of X the number of its distinct slice, [n]; how often each of them occurs, [m].

    X: [..., n, ...], flattened to [n] if `axis` is omitted.
    """
    if axis is None:
        X = X.reshape(-1)
        if X.dtype == object:
            return distinct_strings(X, bool(sorted))
    axis = 0 if axis is None else axis_of(axis, X.ndim)
    lines = np.moveaxis(X, axis, 0).reshape(X.shape[axis], X.size // max(X.shape[axis], 1))
    first, inverse, counts = classes(ranks(lines))
    if not sorted:
        order = np.argsort(first)
        rank_of_class = np.empty_like(order)
        rank_of_class[order] = np.arange(order.size)
        first, inverse, counts = first[order], rank_of_class[inverse], counts[order]
    return X[(slice(None),) * axis + (first,)], first, inverse, counts


def distinct_strings(x: Array, is_sorted: bool) -> tuple[Array, Array, Array, Array]:
    """The results for a vector of strings; a dictionary numbers the distinct strings in order of first occurrence."""
    numbers: dict[str, int] = {}
    inverse = np.array([numbers.setdefault(string, len(numbers)) for string in x.tolist()], np.int64)
    first = np.zeros(len(numbers), np.int64)
    # Assigned from the last element to the first: of several assignments to a string, that of its first occurrence stays.
    first[inverse[::-1]] = np.arange(len(x) - 1, -1, -1)
    counts = np.bincount(inverse, minlength=len(numbers))
    if is_sorted:
        order = np.array([numbers[string] for string in sorted(numbers)], np.int64)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, inverse, counts = first[order], rank[inverse], counts[order]
    return x[first], first, inverse, counts.astype(np.int64, copy=False)


def ranks(lines: Array) -> Array:
    """Dense ranks: for each element the number of distinct smaller elements."""
    _, inverse = np.unique(promote_to_float32(lines), return_inverse=True)
    return inverse.reshape(lines.shape)


def classes(lines: Array) -> tuple[Array, Array, Array]:
    """The distinct lines, in ascending order, as classes of equal lines.

    Results: the index of the first line of each class; the class of each line; the size of each class.
    """
    order = np.lexsort(lines.T[::-1]) if lines.shape[1] else np.arange(len(lines))  # stable
    ordered = lines[order]
    new = np.ones(len(lines), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(lines), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return (
        order[new].astype(np.int64),
        inverse,
        np.bincount(inverse, minlength=int(new.sum())).astype(np.int64),
    )
