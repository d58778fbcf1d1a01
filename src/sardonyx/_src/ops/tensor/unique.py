"""Unique: the different elements of a tensor, or the different slices of an axis.

Spec: ai.onnx Unique-11, -28, which differ in element types.  Slices are ordered by their first element that differs.
All NaN are one value, which is the last in order; so are 0 and -0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import axis_of, product

op = Operator("Unique")


@op.infer(11, 28)
def infer(t: Inference) -> Result:
    data, axis = t.tensor(0), t.attributes.get("axis")
    count = t.new_dim()
    counted = TensorType(DataType.INT64, (count,))
    if data is None:
        return None, counted, TensorType(DataType.INT64, (None,)), counted
    size: Dim = None
    shape: tuple[Dim, ...] | None = (count,)
    if not isinstance(axis, int):
        size = None if data.shape is None else product(data.shape)
    elif data.shape is None:
        shape = None
    else:
        axis = t.axis(axis, len(data.shape))
        size, shape = data.shape[axis], (*data.shape[:axis], count, *data.shape[axis + 1 :])
    return TensorType(data.dtype, shape), counted, TensorType(DataType.INT64, (size,)), counted


@op.eval(11, 28)
def evaluate(X: Array, *, axis: int | None = None, sorted: int) -> tuple[Array, Array, Array, Array]:
    """X: [..., n, ...], flattened to [n] without `axis`; results: [..., m, ...], and int64 [m], [n], [m]: where each
    first occurs, which of them each entry of X is, and how often each occurs."""
    if axis is None:
        X = X.reshape(-1)
    axis = 0 if axis is None else axis_of(axis, X.ndim)
    lines = np.moveaxis(X, axis, 0).reshape(X.shape[axis], X.size // max(X.shape[axis], 1))
    first, inverse, counts = classes(ranks(lines))
    if not sorted:
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        first, inverse, counts = first[order], place[inverse], counts[order]
    return X[(slice(None),) * axis + (first,)], first, inverse, counts


def ranks(lines: Array) -> Array:
    """For each element the number of different elements below it: integers ordered and equal as the elements are."""
    _, found = np.unique(widen(lines), return_inverse=True)
    return found.reshape(lines.shape)


def classes(lines: Array) -> tuple[Array, Array, Array]:
    """For each different line in ascending order, its first place; for each line its class; how large each class is."""
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
