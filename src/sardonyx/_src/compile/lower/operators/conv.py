"""Conv with constant float32 weights, channels-last: depthwise, Winograd, or GEMM by its shape.

Depthwise convolutions have a kernel of their own.  A 3 by 3 convolution with unit strides uses Winograd transforms where
the cost model prefers them; every other one is a GEMM over packed weights (pointwise, im2row or indirect; see
`kernels.conv`).  Quantized convolutions are a pattern.  Falls back for non-constant weights or bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, ConvWindow, pack_conv_weights
from sardonyx._src.compile.kernels.depthwise import depthwise
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import choose_transforms
from sardonyx._src.compile.kernels.winograd.weight_transform import WinogradWeights, pack_winograd_weights
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.region import Read, Region, fused_region
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.partition.window_geometry import WindowGeometry2D, as_image, window_geometry
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import ANY, CHANNELS_LAST
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import channels_last_permutation
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@dataclass(frozen=True, slots=True)
class DepthwiseConv:
    """weights: [M, 1, h, w].  bias: [M], or None."""

    weights: Array
    bias: Array | None
    window: SlidingWindow


@dataclass(frozen=True, slots=True)
class WinogradConv:
    """A 3 by 3 convolution with unit strides; pads: top and left."""

    weights: WinogradWeights
    pads: tuple[int, int]


@matches("Conv", 22)
def match_conv(op: BoundNode, scope: Scope) -> Region[object] | None:
    x, weights, bias = op.input(0), scope.constant(op.input(1)), scope.constant(op.input(2))
    if x is None or weights is None or (bias is None and op.input(2) is not None):
        return None
    geometry = supported_geometry(op, scope, x, weights)
    if geometry is None:
        return None
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    epilogue, read = fuse_epilogue(scope, op.output, channels_last=True), Read(x, CHANNELS_LAST)
    config = choose_algorithm(op, scope, geometry, weights, bias)
    if isinstance(config, ConvWeights) and config.uses_im2row:
        read = Read(x, ANY)
    kind = {ConvWeights: "Conv", DepthwiseConv: "DepthwiseConv", WinogradConv: "WinogradConv"}[type(config)]
    return fused_region(kind, op.node, config, (read,), epilogue, CHANNELS_LAST)


def supported_geometry(op: BoundNode, scope: Scope, x: Value, weights: Array) -> WindowGeometry2D | None:
    """The window geometry; None if the convolution is not supported."""
    shape, group = scope.shape(x), op.attribute("group", int)
    is_float = scope.dtype_of(x) is DataType.FLOAT and weights.dtype == np.float32
    if shape is None or scope.shape(op.output) is None or not is_float or not scope.is_native(x):
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group or weights.size == 0:
        return None
    return window_geometry(op, shape[2:], weights.shape[2:])


def choose_algorithm(
    op: BoundNode, scope: Scope, geometry: WindowGeometry2D, weights: Array, bias: Array | None
) -> ConvWeights | DepthwiseConv | WinogradConv:
    """The weights [M, C / group, h, w], packed for the fastest algorithm."""
    group, shape = op.attribute("group", int), scope.known_shape(op.output)
    if group == weights.shape[0] and weights.shape[1] == 1 and group > 1:
        sliding = SlidingWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads)
        return DepthwiseConv(weights, bias, sliding)
    if geometry.is_unit_3x3 and group == 1 and len(shape) == 4:
        transforms = choose_transforms(shape[0], shape[2], shape[3], weights.shape[1], weights.shape[0])
        if transforms is not None:
            packed = pack_winograd_weights(weights, bias, transforms, scope.target)
            return WinogradConv(packed, geometry.pads[:2])
    window = ConvWindow(geometry.kernel, geometry.strides, geometry.dilations, geometry.pads[:2])
    return pack_conv_weights(weights, bias, window, scope.target, group)


@lowers("Conv")
def lower_conv(region: LaidOutRegion[ConvWeights], lowering: Lowering) -> Sequence[Step]:
    (x,), (y,) = region.operands, region.results
    if region.config.uses_im2row:  # by strides, without a copy
        x = x.permute(channels_last_permutation(x.rank))
    operands = tuple(map(as_image, region.epilogue_operands))
    return (convolution_step(as_image(x), region.config, as_image(y), region.epilogue, operands),)


@lowers("WinogradConv")
def lower_winograd_conv(region: LaidOutRegion[WinogradConv], lowering: Lowering) -> Sequence[Step]:
    (x,), (y,), config = region.operands, region.results, region.config
    return winograd_steps(x, config.weights, y, config.pads, region.epilogue, region.epilogue_operands)


@lowers("DepthwiseConv")
def lower_depthwise_conv(region: LaidOutRegion[DepthwiseConv], lowering: Lowering) -> Sequence[Step]:
    (x,), (y,), config = region.operands, region.results, region.config
    weights = lowering.constant_tensor(depthwise.pack_depthwise_weights(config.weights))
    bias = None if config.bias is None else lowering.constant_tensor(config.bias)
    operands = tuple(map(as_image, region.epilogue_operands))
    step = depthwise.depthwise_step(
        as_image(x), weights, as_image(y), bias, config.window, region.epilogue, operands
    )
    return (step,)
