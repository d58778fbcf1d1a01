"""Gradients of reductions, of CumSum, CumProd and TopK."""

from __future__ import annotations

import numpy as np

from sardonyx._src.grad.operators.shapes import element_numbers, scatter_elements
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


def keep_dims(step: BackwardStep, reduced: Value) -> Value:
    """A value of the reduced shape, with a size of 1 in the place of each axis that was reduced."""
    if step.inference.integer("keepdims", 1) or reduces_nothing(step):
        return reduced
    if not step.inference.has(1):
        return step.Reshape(reduced, step.integers(np.ones(step.rank(0), np.int64)))
    return step.Reshape(reduced, reduced_shape(step))


def reduces_nothing(step: BackwardStep) -> bool:
    """Whether the absence of axes means that no axis is reduced."""
    axes = step.inference.constant(1)
    is_empty = not step.inference.has(1) or (axes is not None and not axes.size)
    return bool(step.inference.integer("noop_with_empty_axes", 0)) and is_empty


def reduced_shape(step: BackwardStep) -> Value:
    """The shape of the result if its dimensions were kept."""
    noop = step.inference.integer("noop_with_empty_axes", 0)
    return step.Shape(step.op("ReduceSum", step.input(0), step.input(1), noop_with_empty_axes=noop))


def spread(step: BackwardStep, reduced: Value) -> Value:
    """A value of the reduced shape, repeated along the axes that were reduced."""
    return step.Expand(keep_dims(step, reduced), step.Shape(step.input(0)))


@operator("ReduceSum").gradient(13)
def reduce_sum(step: BackwardStep) -> Gradients:
    return spread(step, step.gradient())


@operator("ReduceMean").gradient(18)
def reduce_mean(step: BackwardStep) -> Gradients:
    x = step.input(0)
    count = step.Div(step.Size(x), step.Max(step.Size(step.output()), step.integers(1)))
    return step.Div(spread(step, step.gradient()), step.CastLike(count, x))


@operator("ReduceMax").gradient(20)
@operator("ReduceMin").gradient(20)
def reduce_extremum(step: BackwardStep) -> Gradients:
    """Elements that are equal to the result share its gradient."""
    x = step.input(0)
    hits = step.CastLike(step.Equal(x, spread(step, step.output())), x)
    noop = step.inference.integer("noop_with_empty_axes", 0)
    count = step.op("ReduceSum", hits, step.optional(1), noop_with_empty_axes=noop)
    return step.Div(step.Mul(spread(step, step.gradient()), hits), count)


@operator("ReduceProd").gradient(18)
def reduce_prod(step: BackwardStep) -> Gradients:
    """The product of all other elements, from products of those before and after each, so that zeros are no exception."""
    x = step.input(0)
    if reduces_nothing(step):
        return step.gradient()
    rank, axes = step.rank(0), step.inference.constant(1)
    if step.inference.has(1) and axes is None:
        step.refuse("its axes must be constant")
    reduced = (
        sorted({int(a) % rank for a in axes.reshape(-1)})
        if axes is not None and axes.size
        else list(range(rank))
    )
    order = [axis for axis in range(rank) if axis not in reduced] + reduced
    moved = step.op("Transpose", x, perm=order) if rank else x
    kept = rank - len(reduced)
    leading = step.op("Shape", moved, start=0, end=kept)
    rows = step.Reshape(moved, step.op("Concat", leading, step.integers([-1]), axis=0))
    last = step.integers(kept)
    before = step.op("CumProd", rows, last, exclusive=1)
    after = step.op("CumProd", rows, last, exclusive=1, reverse=1)
    others = step.reshape_like(step.Mul(before, after), moved)
    if rank:
        others = step.op("Transpose", others, perm=[int(axis) for axis in np.argsort(order)])
    return step.Mul(spread(step, step.gradient()), others)


@operator("CumSum").gradient(14)
def cumsum(step: BackwardStep) -> Gradients:
    reverse, exclusive = step.inference.integer("reverse"), step.inference.integer("exclusive")
    return step.op("CumSum", step.gradient(), step.input(1), reverse=1 - reverse, exclusive=exclusive)


@operator("CumProd").gradient(26)
def cumprod(step: BackwardStep) -> Gradients:
    """Sum over k of dy[k] * y[k] / x[i] for the k that x[i] takes part in; refused to hold at zeros, where it is NaN."""
    x, axis = step.input(0), step.input(1)
    reverse, exclusive = step.inference.integer("reverse"), step.inference.integer("exclusive")
    weighted = step.Mul(step.gradient(), step.output())
    total = step.op("CumSum", weighted, axis, reverse=1 - reverse, exclusive=exclusive)
    return step.Div(total, x)


@operator("TopK").gradient(24)
def top_k(step: BackwardStep) -> Gradients:
    """The gradients of the values, at the positions that the indices name."""
    zeros = step.zeros_like(step.input(0))
    indices = step.output(1)
    if not step.has_output(1):
        step.refuse("its output Indices must be named, since the gradient depends on it")
    axis = step.inference.integer("axis")
    return step.op("ScatterElements", zeros, indices, step.gradient(), axis=axis, reduction="add")


@operator("Compress").gradient(28)
def compress(step: BackwardStep) -> Gradients:
    x = step.input(0)
    axis = step.inference.attributes.get("axis")
    positions = step.op("Compress", element_numbers(step, x), step.input(1), axis=axis)
    return scatter_elements(step, step.gradient(), positions, x)
