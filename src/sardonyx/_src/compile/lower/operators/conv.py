"""Conv with constant float32 weights, channels-last: depthwise, Winograd, or GEMM by its shape.

Depthwise convolutions have a kernel of their own.  A 3 by 3 convolution with unit strides uses Winograd transforms where
the cost model prefers them; every other one is a GEMM over packed weights (pointwise, im2row or indirect; see
`kernels.conv`).  Quantized convolutions are lowered by `qdq`.  Falls back for non-constant weights or bias.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow, pack_conv_weights
from sardonyx._src.compile.kernels.depthwise import depthwise
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import choose_transforms
from sardonyx._src.compile.kernels.winograd.weight_transform import WinogradWeights, pack_winograd_weights
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.qdq import lower_qdq_convolution
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import WindowGeometry2D, as_image, window_geometry
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.tensor import TensorView, channels_last_permutation
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@lowers("Conv", 22)
def lower_conv(op: BoundNode, lowering: Lowering) -> bool:
    if lower_qdq_convolution(op, lowering):
        return True
    x, weights, bias = op.input(0), lowering.constant(op.input(1)), lowering.constant(op.input(2))
    if x is None or weights is None or (bias is None and op.input(2) is not None):
        return False
    geometry = supported_geometry(op, lowering, x, weights)
    if geometry is None:
        return False
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    emit_convolution(op, lowering, x, (weights, bias), geometry)
    return True


def supported_geometry(
    op: BoundNode, lowering: Lowering, x: Value, weights: Array
) -> WindowGeometry2D | None:
    """The window geometry; None if the convolution is not supported."""
    shape, group = lowering.shape(x), op.attribute("group", int)
    is_float = lowering.dtype_of(x) is DataType.FLOAT and weights.dtype == np.float32
    if shape is None or lowering.shape(op.output) is None or not is_float or not lowering.is_native(x):
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group or weights.size == 0:
        return None
    return window_geometry(op, shape[2:], weights.shape[2:])


def emit_convolution(
    op: BoundNode,
    lowering: Lowering,
    x: Value,
    constants: tuple[Array, Array | None],
    geometry: WindowGeometry2D,
) -> None:
    weights, bias = constants
    group = op.attribute("group", int)
    if group == weights.shape[0] and weights.shape[1] == 1 and group > 1:
        emit_depthwise_convolution(op, lowering, x, constants, geometry)
        return
    shape = lowering.known_shape(op.output)
    transforms = None
    if geometry.is_unit_3x3 and group == 1 and len(shape) == 4:
        transforms = choose_transforms(shape[0], shape[2], shape[3], weights.shape[1], weights.shape[0])
    if transforms is not None:
        emit_winograd_convolution(
            op, lowering, x, pack_winograd_weights(weights, bias, transforms, lowering.target), geometry
        )
        return
    window = ConvWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads[:2])
    packed = pack_conv_weights(weights, bias, window, lowering.target, group)
    source = strided_image(lowering, x) if packed.uses_im2row else as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    lowering.emit(
        convolution_step(
            source, packed, as_image(fused.y), fused.epilogue, tuple(map(as_image, fused.operands))
        )
    )


def emit_winograd_convolution(
    op: BoundNode, lowering: Lowering, x: Value, weights: WinogradWeights, geometry: WindowGeometry2D
) -> None:
    """Emits a Winograd convolution."""
    source = lowering.channels_last(x)
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    lowering.emit(
        *winograd_steps(source, weights, fused.y, geometry.pads[:2], fused.epilogue, fused.operands)
    )


def strided_image(lowering: Lowering, x: Value) -> TensorView:
    """The value [N, C, ...] as a strided tensor [N, H, W, C], without a copy."""
    tensor = lowering.any_layout(x)
    return as_image(tensor.permute(channels_last_permutation(tensor.rank)))


def emit_depthwise_convolution(
    op: BoundNode,
    lowering: Lowering,
    x: Value,
    constants: tuple[Array, Array | None],
    geometry: WindowGeometry2D,
) -> None:
    """Emits a depthwise convolution, in which each output channel reads one input channel."""
    weights, bias = constants
    packed = lowering.constant_tensor(depthwise.pack_depthwise_weights(weights))
    bias_tensor = None if bias is None else lowering.constant_tensor(bias)
    window = SlidingWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads)
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(
        depthwise.depthwise_step(
            source, packed, as_image(fused.y), bias_tensor, window, fused.epilogue, operands
        )
    )
