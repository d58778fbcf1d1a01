"""Integer convolutions: 8-bit images with constant weights, channels-last; int32 accumulators.

Shared by ConvInteger, QLinearConv and the pattern of dequantized operands.  Zero points of the weights are subtracted at
compile time; that of x is compensated by the initial accumulators, or in the epilogue if it is not constant.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import INT8_PER_WORD
from sardonyx._src.compile.partition import BoundNode, FusedEpilogue, Read, Region, Scope, fused_region
from sardonyx._src.compile.partition.operands.window_geometry import image_window
from sardonyx._src.compile.partition.quantized.int8_layouts import INT8X4_PIXELS, padded_layout
from sardonyx._src.compile.partition.quantized.integer_epilogues import KernelExpression
from sardonyx._src.compile.partition.quantized.integer_products import (
    INT8_TYPES,
    compensate_zero_point,
    is_in_int8_range,
    is_optional_scalar,
    wrap_to_int32,
)
from sardonyx._src.compile.program import CHANNELS_LAST, Window
from sardonyx._src.compile.program.operands.layout import Layout
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value


@dataclass(frozen=True, slots=True)
class IntegerConvolution:
    """A convolution of x [N, C, ...], uint8 or int8, with weights [M, C / group, h, w] int8.

    zero: the zero point of x, if the kernel reads it, to subtract it or to pad with it.
    initial: initial accumulators [M] int32.
    result: an element of the result without the contribution of the zero point.
    """

    x: Value
    zero: Value | None
    weights: Array
    initial: Array
    result: KernelExpression
    group: int
    window: Window
    is_signed: bool

    @property
    def is_depthwise(self) -> bool:
        return is_depthwise(self.weights, self.group)


def match_integer_convolution(
    op: BoundNode,
    scope: Scope,
    left: tuple[Value | None, Value | None],
    right: tuple[Array, Array | None],
    added: Array | None = None,
) -> IntegerConvolution | None:
    """The convolution of a node; None if it is not supported.

    left: x and its zero point.
    right: weights [M, C / group, ...] and their zero points, one or one per output channel.
    added: [M] int64, what is added to the accumulators, such as a bias.
    """
    (x, zero), (weights, zeros), group = left, right, op.attribute("group", int)
    shifted = subtract_channel_zeros(weights, zeros)
    if x is None or shifted is None or not is_int8_convolution(op, scope, x, weights):
        return None
    window = image_window(op, scope.known_shape(x)[2:], weights.shape[2:])
    if window is None or not is_optional_scalar(scope, zero):
        return None
    if shifted.ndim == 3:
        shifted = shifted[:, :, None, :]
    result, initial = KernelExpression(), np.zeros(len(weights), np.int64) if added is None else added
    if is_depthwise(weights, group):  # the kernel subtracts the zero point as it reads
        constant = scope.constant(zero)
        zero = None if constant is not None and not constant.any() else zero
    else:
        result, correction = compensate_zero_point(scope, x, zero, shifted.sum((1, 2, 3), dtype=np.int64))
        initial = initial if correction is None else initial + correction
    is_signed = scope.dtype(x) is DataType.INT8
    return IntegerConvolution(x, zero, shifted, wrap_to_int32(initial), result, group, window, is_signed)


def convolution_region(
    op: BoundNode, scope: Scope, conv: IntegerConvolution, epilogue: FusedEpilogue
) -> Region[IntegerConvolution]:
    kind = "IntegerDepthwiseConv" if conv.is_depthwise else "IntegerConv"
    layout: Layout = CHANNELS_LAST if conv.is_depthwise else INT8X4_PIXELS
    reads = (Read(conv.x, layout), *(() if conv.zero is None else (Read(conv.zero),)))
    result_layout = padded_layout(scope, epilogue.result, channels_last=True)
    return fused_region(kind, op.node, conv, reads, epilogue, result_layout)


def is_depthwise(weights: Array, group: int) -> bool:
    """Whether each channel is convolved separately, by one filter."""
    return group > 1 and group == len(weights) and weights.shape[1] == 1


def is_int8_convolution(op: BoundNode, scope: Scope, x: Value, weights: Array) -> bool:
    """Whether an 8-bit image fits the weights, and each of several groups has a multiple of four channels, or one as if depthwise."""
    shape, group = scope.shape(x), op.attribute("group", int)
    if shape is None or scope.shape(op.output) is None or weights.size == 0:
        return False
    if scope.dtype_of(x) not in INT8_TYPES or not scope.is_native(x) or not isinstance(shape[1], int):
        return False
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group:
        return False
    return group == 1 or weights.shape[1] % INT8_PER_WORD == 0 or is_depthwise(weights, group)


def subtract_channel_zeros(weights: Array, zeros: Array | None) -> Array | None:
    """Weights minus their zero points as int8; None if a difference does not fit."""
    shifted = weights.astype(np.int16)
    if zeros is not None:
        if zeros.size not in (1, len(weights)) or weights.ndim < 2:
            return None
        shifted = shifted - zeros.reshape(-1, *(1 for _ in weights.shape[1:])).astype(np.int16)
    return shifted.astype(np.int8) if is_in_int8_range(shifted) else None
