"""The two-dimensional view that operators of the first opsets work on."""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.change import Change, Converted


def flattened(x: Array, axis: int) -> Array:
    """x as [d0*...*d(axis-1), d(axis)*...*dk]; `axis` may be the rank, and counts from the back when negative."""
    if not -x.ndim <= axis <= x.ndim:
        raise EvaluationError(f"axis {axis} lies outside of -{x.ndim} to {x.ndim}")
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def behind_the_last(c: Change) -> Converted:
    """Version 1 takes an axis behind the last one, where each element is a row; 11 does not."""
    rank = c.t.rank(0)
    if rank is None:
        return laid_flat(c)
    if c.axis() < rank:
        return c.same()
    rows = c.op(c.node.op_type, c.Unsqueeze(c.input(0), axes=[rank]), axis=rank)
    return c.Squeeze(rows, axes=[rank])


def along_one_axis(c: Change) -> Converted:
    """From an operator on rows of the flattened view (version 11) to one along an axis (version 13)."""
    rank = c.t.rank(0)
    if rank is None:
        return laid_flat(c)
    if c.axis() == rank - 1 or 0 in (c.t.shape(0) or ()):
        return c.same(axis=-1)  # what is empty stays so; Reshape could not lay it out again
    return laid_flat(c)


def laid_flat(c: Change) -> Value:
    """The operator on the flattened view itself, where each row is a line."""
    x, axis = c.input(0), c.t.integer("axis")
    rows = c.op(c.node.op_type, c.Flatten(x, axis=axis), axis=1)
    return c.Reshape(rows, c.Shape(x))


def on_rows(c: Change) -> Converted:
    """From an operator along an axis (version 13) to one on rows of the flattened view (version 11)."""
    rank = c.rank(0)
    axis = c.t.axis(c.axis(), rank)
    if axis == rank - 1:
        return c.same(axis=axis)
    order = [i for i in range(rank) if i != axis] + [axis]
    last = c.op(c.node.op_type, c.Transpose(c.input(0), perm=order), axis=rank - 1)
    return c.Transpose(last, perm=[order.index(i) for i in range(rank)])


def convert_softmax(op: Operator) -> None:
    """Registers the steps that Softmax, LogSoftmax and Hardmax have in common."""
    op.convert((1, 11))(behind_the_last)
    op.convert((11, 1))(from_the_front)
    op.convert((11, 13))(along_one_axis)
    op.convert((13, 11))(on_rows)
