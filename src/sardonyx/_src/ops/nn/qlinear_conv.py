"""QLinearConv: Conv on quantized data and weights with a quantized result; sums are exact and rounded once.

Spec: ai.onnx QLinearConv-10.  A quantized q represents scale * (q - zero point); the bias has scale x_scale * w_scale
and zero point 0.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.conv_integer import by_output_channel, subtract_zero_point
from sardonyx._src.ops.nn.convolution import add_bias, convolution_shape, convolution_windows, convolve
from sardonyx._src.ops.nn.windows import AUTO_PADS
from sardonyx._src.ops.support.shapes import check_one_element
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "QLinearConv",
    tolerance="rounding",
    enum_attributes={"auto_pad": enum_values(*AUTO_PADS)},
)


@op.infer(10)
def infer(inference: Inference) -> Result:
    zero_point = inference.tensor(7)
    shape = convolution_shape(inference, 0, 3, 8)
    for i, name in ((1, "x_scale"), (2, "x_zero_point"), (6, "y_scale"), (7, "y_zero_point")):
        check_one_element(inference, i, name)
    for i, name in ((4, "w_scale"), (5, "w_zero_point")):
        check_one_element(inference, i, name, None if shape is None else shape[1])
    return None if zero_point is None else TensorType(zero_point.dtype, shape)


@op.eval(10)
def eval_10(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    *,
    context: RunContext,
    group: int,
    auto_pad: str,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [M, C/group, *kernel], b: [M] int32, result: [N, M, *out], saturated.

    Scales and zero points are scalars; those of w may be [M].  Ties round to even.
    """
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
    scalars = (
        ("x_scale", x_scale),
        ("x_zero_point", x_zero_point),
        ("y_scale", y_scale),
        ("y_zero_point", y_zero_point),
    )
    for name, value in scalars:
        if value.size != 1:
            raise EvaluationError(f"{name} must be a scalar; got shape {list(value.shape)}")
    sums = convolve(
        subtract_zero_point(x, x_zero_point), subtract_zero_point(w, w_zero_point), windows, group, context
    )
    sums = add_bias(sums, None if b is None else b.astype(np.float64))
    factor = by_output_channel(w_scale, "w_scale", w.shape[0], w.ndim - 2).astype(np.float64)
    return requantize(sums * (factor * x_scale.item() / y_scale.item()), y_zero_point.reshape(()))


def requantize(values: Array, zero_point: Array) -> Array:
    """float64 values rounded to the nearest number of the zero point's type, shifted by it and saturated."""
    limits = np.iinfo(zero_point.dtype)
    return np.clip(np.rint(values) + zero_point, limits.min, limits.max).astype(zero_point.dtype)
