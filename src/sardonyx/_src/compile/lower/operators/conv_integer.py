"""ConvInteger with constant weights, and the int8 convolution shared with `qdq` and `qlinear`: channels-last.

Zero points of the weights are subtracted at compile time; that of x is compensated by the initial accumulators, or in the
epilogue if it is not constant.  Falls back for non-constant weights, weights that leave int8 after the subtraction, and
groups whose channels are not a multiple of four (except depthwise convolutions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow
from sardonyx._src.compile.kernels.depthwise.integer_depthwise import (
    integer_depthwise_step,
    pack_int8_depthwise_weights,
)
from sardonyx._src.compile.kernels.gemm.packed_int8 import (
    INT8_PER_WORD,
    make_padded_temporary,
    view_as_int8x4,
)
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.matmul_integer import (
    INT8_TYPES,
    SIGN_OFFSET,
    MakeIntegerEpilogue,
    column_operand,
    is_optional_scalar,
    wrap_to_int32,
)
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import WindowGeometry2D, as_image, window_geometry
from sardonyx._src.compile.partition.integer_epilogues import (
    ACCUMULATOR,
    KernelOperand,
    fuse_integer_epilogue,
)
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import (
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@dataclass(frozen=True, slots=True)
class IntegerConvolution:
    """A convolution of x [N, C, ...] (uint8 or int8, zero point `zero`, None: 0) with weights [M, C / group, h, w].

    weights: int8, with their zero points subtracted.  added: [M] int64, added to the accumulators.
    """

    x: Value
    zero: Value | None
    weights: Array
    added: Array
    group: int
    geometry: WindowGeometry2D


@lowers("ConvInteger", 10)
def lower_conv_integer(op: BoundNode, lowering: Lowering) -> bool:
    weights, zeros = lowering.constant(op.input(1)), lowering.constant(op.input(3))
    if weights is None or (zeros is None and op.input(3) is not None):
        return False
    conv = match_integer_convolution(op, lowering, (op.input(0), op.input(2)), (weights, zeros))
    if conv is None:
        return False
    emit_integer_convolution(
        lowering,
        conv,
        lambda value, operands: fuse_integer_epilogue(
            lowering, op.output, value, operands, channels_last=True
        ),
    )
    return True


def match_integer_convolution(
    op: BoundNode,
    lowering: Lowering,
    left: tuple[Value | None, Value | None],
    right: tuple[Array, Array | None],
) -> IntegerConvolution | None:
    """The convolution of a node; None if it is not supported.

    left: x and its zero point.  right: weights [M, C / group, ...] and their zero points, one or one per output channel.
    """
    (x, zero), (weights, zeros), group = left, right, op.attribute("group", int)
    shape = lowering.shape(x)
    if (
        x is None
        or shape is None
        or lowering.dtype_of(x) not in INT8_TYPES
        or not lowering.is_native(x)
        or not is_optional_scalar(lowering, zero)
    ):
        return None
    shifted = subtract_zero_points(weights, zeros)
    if (
        shifted is None
        or lowering.shape(op.output) is None
        or weights.size == 0
        or not isinstance(shape[1], int)
    ):
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group:
        return None
    is_depthwise = group == weights.shape[0] and weights.shape[1] == 1
    geometry = window_geometry(op, shape[2:], weights.shape[2:])
    if geometry is None or (group > 1 and weights.shape[1] % INT8_PER_WORD and not is_depthwise):
        return None
    if shifted.ndim == 3:
        shifted = shifted[:, :, None, :]
    return IntegerConvolution(x, zero, shifted, np.zeros(len(shifted), np.int64), group, geometry)


def subtract_zero_points(weights: Array, zeros: Array | None) -> Array | None:
    """Weights minus their zero points as int8; None if a difference does not fit."""
    shifted = weights.astype(np.int16)
    if zeros is not None:
        if zeros.size not in (1, len(weights)) or weights.ndim < 2:
            return None
        shifted = shifted - zeros.reshape(-1, *(1 for _ in weights.shape[1:])).astype(np.int16)
    fits = shifted.size == 0 or (shifted.min() >= -SIGN_OFFSET and shifted.max() < SIGN_OFFSET)
    return shifted.astype(np.int8) if fits else None


def emit_integer_convolution(
    lowering: Lowering, conv: IntegerConvolution, make_epilogue: MakeIntegerEpilogue
) -> None:
    """Emits a convolution; `make_epilogue` receives the compensated accumulators as an expression, and its operands."""
    if conv.group == len(conv.weights) and conv.weights.shape[1] == 1 and conv.group > 1:
        emit_integer_depthwise(lowering, conv, make_epilogue)
        return
    is_signed = lowering.dtype(conv.x) is DataType.INT8
    value, kernel_operands, initial = compensate_zero_point(lowering, conv, SIGN_OFFSET if is_signed else 0)
    source, zero, geometry = (
        as_image(as_int8x4_image(lowering, conv.x)),
        zero_point_tensor(lowering, conv),
        conv.geometry,
    )
    window = ConvWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads[:2])
    weights = pack_integer_weights(conv.weights, initial, window, lowering.target, conv.group)
    fused = make_epilogue(value, kernel_operands)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(
        integer_convolution_step(
            source, zero, weights, as_image(fused.y), fused.epilogue, operands, a_is_signed=is_signed
        )
    )


def emit_integer_depthwise(
    lowering: Lowering, conv: IntegerConvolution, make_epilogue: MakeIntegerEpilogue
) -> None:
    """Emits a depthwise convolution, whose kernel subtracts the zero point of x as it reads."""
    weights = lowering.constant_tensor(pack_int8_depthwise_weights(conv.weights, lowering.target))
    initial, geometry, constant_zero = (
        lowering.constant_tensor(wrap_to_int32(conv.added)),
        conv.geometry,
        lowering.constant(conv.zero),
    )
    is_zero = conv.zero is None or (constant_zero is not None and not constant_zero.any())
    zero = None if is_zero else zero_point_tensor(lowering, conv)
    window = SlidingWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads)
    source = as_image(lowering.channels_last(conv.x))
    fused = make_epilogue(ACCUMULATOR, [])
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(
        integer_depthwise_step(
            source, zero, weights, initial, as_image(fused.y), window, fused.epilogue, operands
        )
    )


def compensate_zero_point(
    lowering: Lowering, conv: IntegerConvolution, shift: int
) -> tuple[Scalar, list[KernelOperand], Array]:
    """The accumulators without the contribution of the zero point of x.

    Returns them as an expression, its operands, and the initial accumulators [M] int32, which contain the compensation
    if the zero point is constant.  shift: added to x and its zero point to make both unsigned.
    """
    weight_sums = conv.weights.sum((1, 2, 3), dtype=np.int64)
    constant_zero = np.zeros(1, np.int64) if conv.zero is None else lowering.constant(conv.zero)
    if constant_zero is not None:
        return (
            ACCUMULATOR,
            [],
            wrap_to_int32(conv.added - (int(constant_zero.reshape(())) + shift) * weight_sums),
        )
    assert conv.zero is not None, "an omitted zero point is constant"
    zero_point: Scalar = Apply("add", (Cast(DataType.INT32, Local("o0")), Number(shift)))
    operands = [KernelOperand("scalar", lowering.dense(conv.zero)), column_operand(lowering, weight_sums)]
    return (
        Apply("sub", (ACCUMULATOR, Apply("mul", (zero_point, Local("o1"))))),
        operands,
        wrap_to_int32(conv.added),
    )


def zero_point_tensor(lowering: Lowering, conv: IntegerConvolution) -> TensorView:
    """The zero point of x, which is the value of padding."""
    if conv.zero is None:
        return lowering.constant_tensor(
            np.zeros((), lowering.dtype(conv.x).numpy), ("no zero point", lowering.dtype(conv.x))
        )
    return lowering.dense(conv.zero)


def as_int8x4_image(lowering: Lowering, x: Value) -> TensorView:
    """A value [N, C, ...] as packed int8x4 [N, ..., ceil(C / 4)]; copied if its pixels are not multiples of 4 bytes apart."""
    lowering.any_layout(x)
    rank = len(lowering.known_shape(x))
    for layout in lowering.tensors[x]:
        packed = view_as_int8x4(layout.permute(channels_last_permutation(rank)))
        if packed is not None and packed.strides[-1] == 1:
            return packed
    source = lowering.tensors[x][0]
    padded = make_padded_temporary(
        source.dtype, source.permute(channels_last_permutation(rank)).shape, x.name
    )
    lowering.copy(x, source, padded.permute(channels_first_permutation(rank)))
    packed = view_as_int8x4(padded)
    assert packed is not None, "the temporary is padded to multiples of 4 bytes"
    return packed
