"""ConvInteger: Conv on 8-bit integers minus their zero points, accumulated in 32 bits.

Spec: ai.onnx ConvInteger-10.  Padding has the value of the zero point, so it contributes nothing.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import convolution_shape, convolution_windows, convolve
from sardonyx._src.ops.nn.windows import AUTO_PADS
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import check_one_element
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("ConvInteger", enum_attributes={"auto_pad": enum_values(*AUTO_PADS)})


@op.infer(10)
def infer(inference: Inference) -> Result:
    shape = convolution_shape(inference, 0, 1, None)
    check_one_element(inference, 2, "x_zero_point")
    check_one_element(inference, 3, "w_zero_point", None if shape is None else shape[1])
    return TensorType(DataType.INT32, shape)


@op.convert((10, 0))
def to_9(adapter: Adapter) -> AdaptedNode:
    """Conv on doubles, which hold every sum exactly; a Cast through int64 wraps sums outside int32 around."""
    inputs = [
        dequantized_input(adapter, 0, 2, ()),
        dequantized_input(adapter, 1, 3, (-1, *(1,) * (adapter.rank(1) - 1))),
    ]
    (sums,) = adapter.add("Conv", inputs, dict(adapter.node.attributes), 1)
    return cast(adapter, cast(adapter, sums, DataType.INT64), DataType.INT32)


def dequantized_input(adapter: Adapter, i: int, zero_point: int, shape: tuple[int, ...]) -> Value:
    """Input i as double minus its zero point, reshaped to `shape` to broadcast."""
    value, zero = cast(adapter, adapter.input(i), DataType.DOUBLE), adapter.optional(zero_point)
    if zero is None:
        return value
    reshaped_zero = adapter.Reshape(
        cast(adapter, zero, DataType.DOUBLE), adapter.integers(np.array(shape, np.int64))
    )
    return adapter.Sub(value, reshaped_zero)


@op.eval(10)
def eval_10(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    context: RunContext,
    group: int,
    auto_pad: str,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [M, C/group, *kernel], w_zero_point: scalar or [M], result: [N, M, *out], wrapped."""
    windows = convolution_windows(
        x,
        w,
        group,
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
    )
    if x_zero_point is not None and x_zero_point.size != 1:
        raise EvaluationError(f"x_zero_point must be a scalar; got shape {list(x_zero_point.shape)}")
    sums = convolve(
        subtract_zero_point(x, x_zero_point), subtract_zero_point(w, w_zero_point), windows, group, context
    )
    return sums.astype(np.int64).astype(np.int32)


def subtract_zero_point(values: Array, zero_point: Array | None) -> Array:
    """values minus their zero point (one, or one for each entry of the first axis), as float64.

    Differences have 9 bits, and products 18.  The sum of as many products as memory holds stays below 2^53, so
    float64 holds it exactly; BLAS multiplies matrices of float64, but none of integers.
    """
    wide = values.astype(np.float64)
    if zero_point is None:
        return wide
    return wide - by_output_channel(zero_point, "the zero point", values.shape[0], values.ndim - 1).astype(
        np.float64
    )


def by_output_channel(parameter: Array, name: str, channels: int, trailing: int) -> Array:
    """A scalar, or a vector of `channels` followed by `trailing` axes of size 1; raises EvaluationError."""
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.shape != (channels,):
        raise EvaluationError(
            f"{name} must be a scalar or have shape [{channels}]; got {list(parameter.shape)}"
        )
    return parameter.reshape(-1, *(1,) * trailing)
