"""Flattening to two dimensions, on which Softmax, LogSoftmax and Hardmax operate before version 13."""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter


def flatten_to_2d(x: Array, axis: int) -> Array:
    """x as [d0*...*d(axis-1), d(axis)*...*dk]; `axis` may be equal to the rank, and a negative axis counts from the end."""
    if not -x.ndim <= axis <= x.ndim:
        raise EvaluationError(f"axis must be in [-{x.ndim}, {x.ndim}]; got {axis}")
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def adapt_axis_past_last(adapter: Adapter) -> AdaptedNode:
    """From version 1, which allows an axis after the last one (each element is a row), to 11, which does not."""
    rank = adapter.inference.rank(0)
    if rank is None:
        return run_on_2d(adapter)
    if adapter.axis() < rank:
        return adapter.same()
    rows = adapter.op(adapter.node.op_type, adapter.Unsqueeze(adapter.input(0), axes=[rank]), axis=rank)
    return adapter.Squeeze(rows, axes=[rank])


def adapt_2d_to_axis(adapter: Adapter) -> AdaptedNode:
    """From an operator on rows of the flattened view (version 11) to one along an axis (version 13)."""
    rank = adapter.inference.rank(0)
    if rank is None:
        return run_on_2d(adapter)
    if adapter.axis() == rank - 1 or 0 in (adapter.inference.shape(0) or ()):
        return adapter.same(
            axis=-1
        )  # the result is empty; a Reshape by a shape with 0 would copy a size of the input instead
    return run_on_2d(adapter)


def run_on_2d(adapter: Adapter) -> Value:
    """The operator along axis 1 of the flattened view."""
    x, axis = adapter.input(0), adapter.inference.integer("axis")
    rows = adapter.op(adapter.node.op_type, adapter.Flatten(x, axis=axis), axis=1)
    return adapter.Reshape(rows, adapter.Shape(x))


def adapt_axis_to_2d(adapter: Adapter) -> AdaptedNode:
    """From an operator along an axis (version 13) to one on rows of the flattened view (version 11)."""
    rank = adapter.rank(0)
    axis = adapter.inference.axis(adapter.axis(), rank)
    if axis == rank - 1:
        return adapter.same(axis=axis)
    order = [i for i in range(rank) if i != axis] + [axis]
    last = adapter.op(adapter.node.op_type, adapter.Transpose(adapter.input(0), perm=order), axis=rank - 1)
    return adapter.Transpose(last, perm=[order.index(i) for i in range(rank)])


def register_softmax_adapters(op: Operator) -> None:
    """Register the conversions that Softmax, LogSoftmax and Hardmax have in common."""
    op.convert((1, 11))(adapt_axis_past_last)
    op.convert((11, 1))(normalize_axis)
    op.convert((11, 13))(adapt_2d_to_axis)
    op.convert((13, 11))(adapt_axis_to_2d)
