"""Gradients of reductions, of CumSum, CumProd and TopK."""

from __future__ import annotations

import numpy as np

from sardonyx._src.grad.operators.shapes import element_numbers, scatter_elements
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


def keep_dims(step: BackwardStep, reduced: Value) -> Value:
    """A value of the reduced shape, with each reduced axis restored with size 1."""
    if step.inference.integer("keepdims", 1) or reduces_nothing(step):
        return reduced
    if not step.inference.has(1):
        return step.Reshape(reduced, step.integers(np.ones(step.rank(0), np.int64)))
    return step.Reshape(reduced, reduced_shape(step), allowzero=1)


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


@operator("ReduceL2").gradient(18)
def reduce_l2(step: BackwardStep) -> Gradients:
    """dy * x / y; rows of zeros have the subgradient 0."""
    y = step.output()
    is_zero = step.Equal(y, step.scalar(0))
    factor = step.Div(step.gradient(), step.Where(is_zero, step.scalar(1), y))
    return step.Mul(step.input(0), spread(step, factor))


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
    """The gradient of an element is the product of all others: of those before it and those after it.

    It is not computed by dividing the result by the element, which fails for zeros.
    """
    x = step.input(0)
    if reduces_nothing(step):
        return step.gradient()
    rank, axes = step.rank(0), step.inference.constant(1)
    if step.inference.has(1) and axes is None:
        return products_of_others(step)
    reduced = (
        sorted({int(a) % rank for a in axes.reshape(-1)})
        if axes is not None and axes.size
        else list(range(rank))
    )
    order = [axis for axis in range(rank) if axis not in reduced] + reduced
    moved = step.op("Transpose", x, perm=order) if rank else x
    kept = rank - len(reduced)
    leading = step.op("Shape", moved, start=0, end=kept)
    count = step.ReduceProd(step.op("Shape", moved, start=kept))
    rows = step.Reshape(moved, step.op("Concat", leading, count, axis=0), allowzero=1)
    last = step.integers(kept)
    before = step.op("CumProd", rows, last, exclusive=1)
    after = step.op("CumProd", rows, last, exclusive=1, reverse=1)
    others = step.reshape_like(step.Mul(before, after), moved)
    if rank:
        others = step.op("Transpose", others, perm=[int(axis) for axis in np.argsort(order)])
    return step.Mul(spread(step, step.gradient()), others)


def products_of_others(step: BackwardStep) -> Value:
    """The gradient of ReduceProd along axes that are known only during the run, without a division by 0."""
    x, axes, zero = step.input(0), step.input(1), step.scalar(0)
    noop = step.inference.integer("noop_with_empty_axes")
    is_zero = step.Equal(x, zero)
    nonzero = step.Where(is_zero, step.scalar(1), x)
    zeros = step.CastLike(is_zero, x)
    product = step.op("ReduceProd", nonzero, axes, noop_with_empty_axes=noop)
    count = step.Sub(step.op("ReduceSum", zeros, axes, noop_with_empty_axes=noop), zeros)
    others = step.Where(step.Equal(count, zero), step.Div(product, nonzero), zero)
    return step.Mul(spread(step, step.gradient()), others)


@operator("CumSum").gradient(14)
def cumsum(step: BackwardStep) -> Gradients:
    return later_sums(step, step.gradient())


@operator("CumProd").gradient(26)
def cumprod(step: BackwardStep) -> Gradients:
    """dx[i] is the sum of dy[k] * y[k] / x[i] over the results k that x[i] is a factor of.

    For the first 0 of a line, y[k] / x[i] is the product without it.
    """
    x, zero = step.input(0), step.scalar(0)
    is_zero = step.Equal(x, zero)
    zeros = step.CastLike(is_zero, x)
    reverse = step.inference.integer("reverse")
    count = step.op("CumSum", zeros, step.input(1), reverse=reverse)
    is_first = step.And(is_zero, step.Equal(count, step.scalar(1)))
    without = step.Where(is_first, step.scalar(1), x)
    products = step.op("CumProd", without, step.input(1), reverse=reverse, exclusive=exclusive_of(step))
    first = step.Where(is_first, later_sums(step, step.Mul(step.gradient(), products)), zero)
    total = later_sums(step, step.Mul(step.gradient(), step.output()))
    return step.Where(is_zero, first, step.Div(total, step.Where(is_zero, step.scalar(1), x)))


def exclusive_of(step: BackwardStep) -> int:
    return step.inference.integer("exclusive")


def later_sums(step: BackwardStep, x: Value) -> Value:
    """For each element of the input, the sum of x over the results that the element contributes to."""
    reverse = 1 - step.inference.integer("reverse")
    return step.op("CumSum", x, step.input(1), reverse=reverse, exclusive=exclusive_of(step))


@operator("TopK").gradient(24)
def top_k(step: BackwardStep) -> Gradients:
    """The gradients of the values, scattered to the positions in the output `Indices`; 0 elsewhere."""
    zeros = step.zeros_like(step.input(0))
    indices = (
        step.output(1)
        if step.has_output(1)
        else step.add("TopK", step.node.inputs, step.node.attributes, 2)[1]
    )
    axis = step.inference.integer("axis")
    return step.op("ScatterElements", zeros, indices, step.gradient(), axis=axis, reduction="add")


@operator("Compress").gradient(28)
def compress(step: BackwardStep) -> Gradients:
    x = step.input(0)
    axis = step.inference.attributes.get("axis")
    positions = step.op("Compress", element_numbers(step, x), step.input(1), axis=axis)
    return scatter_elements(step, step.gradient(), positions, x)
