"""ConvInteger: Conv on 8-bit integers less their zero points, summed up in 32 bits.

Spec: ai.onnx ConvInteger-10.  Padding stands for the zero point, so it adds nothing.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import convolution_shape, convolution_windows, convolve
from sardonyx._src.ops.shapes import check_single
from sardonyx._src.ops.widening import cast

op = Operator("ConvInteger")


@op.infer(10)
def infer(t: Inference) -> Result:
    shape = convolution_shape(t, 0, 1, None)
    check_single(t, 2, "x_zero_point")
    check_single(t, 3, "w_zero_point", None if shape is None else shape[1])
    return TensorType(DataType.INT32, shape)


@op.convert((10, 0))
def to_9(c: Change) -> Converted:
    """Conv on doubles, which hold every sum; what int32 does not hold is wrapped, by way of int64."""
    inputs = [real(c, 0, 2, ()), real(c, 1, 3, (-1, *(1,) * (c.rank(1) - 1)))]
    (sums,) = c.add("Conv", inputs, dict(c.node.attributes), 1)
    return cast(c, cast(c, sums, DataType.INT64), DataType.INT32)


def real(c: Change, i: int, zero_point: int, shape: tuple[int, ...]) -> Value:
    """Input i as double, less its zero point, which a reshape to `shape` puts in its place."""
    value, zero = cast(c, c.input(i), DataType.DOUBLE), c.optional(zero_point)
    if zero is None:
        return value
    placed = c.Reshape(cast(c, zero, DataType.DOUBLE), c.integers(np.array(shape, np.int64)))
    return c.Sub(value, placed)


@op.eval(10)
def eval_10(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    call: Call,
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
        raise EvaluationError(f"x_zero_point has shape {list(x_zero_point.shape)}, a scalar is wanted")
    sums = convolve(shifted(x, x_zero_point), shifted(w, w_zero_point), windows, group, call)
    return sums.astype(np.int64).astype(np.int32)


def shifted(values: Array, zero_point: Array | None) -> Array:
    """values less their zero point (one, or one for each entry of the first axis), as float64.

    Products of 9 bits each, as many as memory holds, add up to less than 2^53: float64 is exact, and BLAS has it.
    """
    wide = values.astype(np.float64)
    if zero_point is None:
        return wide
    return wide - by_output_channel(zero_point, "the zero point", values.shape[0], values.ndim - 1).astype(
        np.float64
    )


def by_output_channel(parameter: Array, name: str, channels: int, behind: int) -> Array:
    """A scalar, or a vector of `channels` followed by `behind` axes of size 1; raises EvaluationError."""
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.shape != (channels,):
        raise EvaluationError(f"{name} has shape {list(parameter.shape)}, a scalar or [{channels}] is wanted")
    return parameter.reshape(-1, *(1,) * behind)
