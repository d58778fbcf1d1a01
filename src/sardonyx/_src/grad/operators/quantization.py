"""Gradients of QuantizeLinear and DequantizeLinear.

The slope of rounding is 0 almost everywhere, which trains nothing.  Where the result is not saturated, gradients pass
rounding as if it were the identity (Bengio et al., "Estimating or propagating gradients through stochastic neurons",
2013).  If QuantizeLinear and DequantizeLinear share a scale, the gradient of the scale is the rounding error, and the
quantized value where the result is saturated (Esser et al., "Learned step size quantization", 2020).  The gradient of a
quantized tensor has the type of the scale.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Tensor, Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, fill_like, shape_of

# The largest change by rounding to a float8, relative to the result and to the scale; a larger change is saturation.
RELATIVE_ERROR, ABSOLUTE_ERROR = 0.125, 0.01
HALF = 0.5 + 1e-4  # the largest change by rounding to an integer, with a margin for the rounding of x / scale


@operator("DequantizeLinear").gradient(28)
def dequantize_linear(step: BackwardStep) -> Gradients:
    """y = (x - zero_point) * scale."""
    x, scale, dy = step.input(0), step.input(1), step.gradient()
    dx = d_scale = None
    if step.wants(0):
        dx = step.Mul(dy, step.CastLike(spread_scale(step, x), dy))
        is_straight = x.producer is not None and x.producer.op_type == "QuantizeLinear"
        dx = dx if is_straight else step.CastLike(dx, x)
    if step.wants(1):
        units = fill_like(step.graph, scale, 1)
        difference = dequantized(step, x, units, step.optional(2))
        d_scale = sum_to_parameter(step, step.Mul(dy, step.CastLike(difference, dy)), scale)
    return [dx, d_scale]


@operator("QuantizeLinear").gradient(28)
def quantize_linear(step: BackwardStep) -> Gradients:
    """The slope of x / scale, and 0 where the result is saturated."""
    x, scale, result = step.input(0), step.input(1), step.output()
    dy = step.CastLike(step.gradient(), scale)
    spread = step.CastLike(spread_scale(step, x), dy)
    rounded = step.CastLike(dequantized(step, result, scale, step.optional(2)), dy)
    error = step.Abs(step.Sub(step.CastLike(x, dy), rounded))
    is_inside = step.LessOrEqual(error, largest_error(step, rounded, spread))
    slope = step.Where(is_inside, step.Div(dy, spread), step.CastLike(step.integers(0), dy))
    d_scale = None
    if step.wants(1):
        quotient = step.Div(step.CastLike(x, dy), spread)
        d_scale = sum_to_parameter(step, step.Neg(step.Mul(slope, quotient)), scale)
    return [step.CastLike(slope, x), d_scale]


def largest_error(step: BackwardStep, rounded: Value, spread: Value) -> Value:
    """The largest difference between x and its quantized value that is due to rounding."""

    def number(value: float) -> Value:
        return step.CastLike(step.constant(np.float32(value)), spread)

    result_type = getattr(step.output().type, "dtype", None)
    if isinstance(result_type, DataType) and result_type.is_float:
        relative = step.Mul(step.Abs(rounded), number(RELATIVE_ERROR))
        return step.Add(relative, step.Mul(spread, number(ABSOLUTE_ERROR)))
    return step.Mul(spread, number(HALF))


def spread_scale(step: BackwardStep, x: Value) -> Value:
    """The scale of each element of x."""
    ones = step.op("ConstantOfShape", step.Shape(x), value=Tensor.of(np.ones(1, np.int8)))
    return dequantized(step, ones, step.input(1), None)


def dequantized(step: BackwardStep, x: Value, scale: Value, zero_point: Value | None) -> Value:
    """(x - zero_point) * scale, with the granularity of the node."""
    axis, block = step.inference.integer("axis"), step.inference.integer("block_size")
    return step.op("DequantizeLinear", x, scale, zero_point, axis=axis, block_size=block)


def sum_to_parameter(step: BackwardStep, gradient: Value, parameter: Value) -> Value:
    """A gradient for each element of x, summed over the elements that share an entry of a scale."""
    shape, rank = shape_of(parameter), step.rank(0)
    if shape is None:
        step.refuse("the rank of its scale must be known")
    block = step.inference.integer("block_size")
    if all(size == 1 for size in shape):
        total = step.op("ReduceSum", gradient, keepdims=0)
    else:
        axis = step.inference.axis(step.inference.integer("axis"), rank) if rank > 1 else 0
        others = [i for i in range(rank) if i != axis]
        total = (
            sum_blocks(step, gradient, parameter, axis, block)
            if block
            else step.ReduceSum(gradient, step.integers(others), keepdims=0, noop_with_empty_axes=1)
        )
    return step.CastLike(step.reshape_like(total, parameter), parameter)


def sum_blocks(step: BackwardStep, gradient: Value, parameter: Value, axis: int, block: int) -> Value:
    """The sums of blocks along an axis, whose last one may be shorter."""
    count = step.op("Shape", parameter, start=axis, end=axis + 1)
    missing = step.Sub(
        step.Mul(count, step.integers([block])), step.op("Shape", gradient, start=axis, end=axis + 1)
    )
    padded = step.Pad(
        gradient, step.op("Concat", step.integers([0]), missing, axis=0), None, step.integers([axis])
    )
    lead, rest = step.op("Shape", gradient, start=0, end=axis), step.op("Shape", gradient, start=axis + 1)
    blocks = step.Reshape(padded, step.op("Concat", lead, count, step.integers([block]), rest, axis=0))
    return step.ReduceSum(blocks, step.integers([axis + 1]), keepdims=0)
