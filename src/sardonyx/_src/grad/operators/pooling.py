"""Gradients of MaxPool, AveragePool, LpPool, their global forms and MaxUnpool."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.operators.shapes import element_numbers, scatter_elements
from sardonyx._src.grad.operators.sliding_windows import transposed_windows, window_attributes
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


@operator("MaxPool").gradient(22)
def max_pool(step: BackwardStep) -> Gradients:
    """The gradient goes to the element whose position the output Indices has: the first maximum of the window."""
    x, attributes = step.input(0), dict(step.node.attributes)
    attributes.pop("storage_order", None)
    _, indices = step.add("MaxPool", [x], attributes, 2)
    return scatter_elements(step, step.gradient(), indices, x)


@operator("AveragePool").gradient(22)
def average_pool(step: BackwardStep) -> Gradients:
    """Each window divides its gradient evenly among the elements that it averages.

    The pool of a tensor of ones, divided by the number of ones in each window, is the share of an element.
    """
    ones = one_channel_of_ones(step)
    shared = {name: value for name, value in step.node.attributes.items() if name != "count_include_pad"}
    (count,) = step.add("LpPool", [ones], {**shared, "p": attribute("p", 1)}, 1)
    (average,) = step.add("AveragePool", [ones], step.node.attributes, 1)
    return spread_windows(step, step.Mul(step.gradient(), step.Div(average, count)))


@operator("LpPool").gradient(22)
def lp_pool(step: BackwardStep) -> Gradients:
    """sign(x) * |x|^(p - 1) times the sum of dy * y^(1 - p) over the windows that read x; 0 where y is 0."""
    p = step.inference.integer("p")
    return lp_gradient(step, p, spread_windows(step, lp_factor(step, p)))


@operator("GlobalLpPool").gradient(22)
def global_lp_pool(step: BackwardStep) -> Gradients:
    p = step.inference.integer("p")
    return lp_gradient(step, p, lp_factor(step, p))


def lp_factor(step: BackwardStep, p: int) -> Value:
    """dy * y^(1 - p), 0 where y is 0."""
    y, zero = step.output(), step.scalar(0)
    is_zero = step.Equal(y, zero)
    power = step.Pow(step.Where(is_zero, step.scalar(1), y), step.scalar(1 - p))
    return step.Where(is_zero, zero, step.Mul(step.gradient(), power))


def lp_gradient(step: BackwardStep, p: int, factor: Value) -> Value:
    """sign(x) * |x|^(p - 1) * factor."""
    x = step.input(0)
    slope = step.Mul(step.Sign(x), step.Pow(step.Abs(x), step.scalar(p - 1)))
    return step.Mul(slope, factor)


@operator("GlobalAveragePool").gradient(22)
def global_average_pool(step: BackwardStep) -> Gradients:
    x = step.input(0)
    count = step.CastLike(step.Div(step.Size(x), step.Max(step.Size(step.output()), step.integers(1))), x)
    return step.Expand(step.Div(step.gradient(), count), step.Shape(x))


@operator("GlobalMaxPool").gradient(22)
def global_max_pool(step: BackwardStep) -> Gradients:
    """Elements that are equal to the result share its gradient."""
    x = step.input(0)
    hits = step.CastLike(step.Equal(x, step.output()), x)
    axes = step.integers(range(2, step.rank(0)))
    count = step.ReduceSum(hits, axes, noop_with_empty_axes=1)
    return step.Mul(step.Div(step.gradient(), count), hits)


@operator("MaxUnpool").gradient(22)
def max_unpool(step: BackwardStep) -> Gradients:
    """Each element has the gradient of the result at the position to which it was copied.

    The node itself, applied to the numbers of its elements from 1 on, returns which element each position holds; 0 means
    none.
    """
    x, flat = step.input(0), step.integers([-1])
    numbers = step.Add(element_numbers(step, x), step.integers(1))
    wide = step.op("Cast", numbers, to=DataType.DOUBLE)
    (moved,) = step.add("MaxUnpool", [wide, *step.node.inputs[1:]], step.node.attributes, 1)
    places = step.Reshape(step.op("Cast", moved, to=DataType.INT64), flat)
    sums = step.op(
        "ScatterElements",
        step.op("Pad", step.Reshape(step.zeros_like(x), flat), step.integers([1, 0])),
        places,
        step.Reshape(step.gradient(), flat),
        axis=0,
        reduction="add",
    )
    return step.reshape_like(step.Slice(sums, step.integers([1]), step.integers([2**62])), x)


def one_channel_of_ones(step: BackwardStep) -> Value:
    """Ones with the spatial sizes of input 0, for one image with one channel: [1, 1, *size]."""
    plane = step.integers([1, 1])
    return step.Expand(
        step.scalar(1), step.op("Concat", plane, step.op("Shape", step.input(0), start=2), axis=0)
    )


def spread_windows(step: BackwardStep, gradient: Value) -> Value:
    """The sum, for each element of input 0, of the gradients of the windows that read it."""
    x = step.input(0)
    kernel = step.inference.integers("kernel_shape")
    assert kernel is not None, "kernel_shape is required"
    windows = window_attributes(step, kernel)
    ones = step.constant(np.ones((1, 1, *kernel)), step.dtype(0))
    planes = step.op("Concat", step.integers([-1, 1]), step.op("Shape", gradient, start=2), axis=0)
    images = step.Reshape(x, step.op("Concat", step.integers([-1, 1]), step.op("Shape", x, start=2), axis=0))
    spread = transposed_windows(step, step.Reshape(gradient, planes), ones, windows, images, kernel)
    return step.reshape_like(spread, x)
