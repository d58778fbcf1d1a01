"""Conv in float32, channels-last: depthwise, Winograd, or GEMM by its shape; channels-first to few channels.

Depthwise convolutions have their own kernel.  A 3 by 3 convolution with unit strides and constant weights uses
Winograd transforms if the cost model prefers them.  Every other convolution is a GEMM over packed weights (pointwise,
im2row or indirect; see `kernels.conv`).  Steps pack weights that a run computes.  Quantized convolutions, and
pointwise ones followed by a depthwise one, are matched by patterns (`partition.patterns`), before this matcher.
Falls back to the reference kernel for weights of dynamic dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.bf16_convolution import bf16_convolution_step, pack_bf16_weights
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import (
    ConvWeights,
    can_share_vectors,
    can_use_im2row,
    pack_conv_weights,
    packs_lines,
)
from sardonyx._src.compile.kernels.conv.pixel_lanes import pixel_lanes_step
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD
from sardonyx._src.compile.kernels.tuning import ConvTuning, GemmTuning
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import choose_transforms
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.weight_transform import WinogradWeights, pack_winograd_weights
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue, fuse_without_operands
from sardonyx._src.compile.partition.operands.float_convolutions import (
    ComputedConvolution,
    FloatConvolution,
    match_computed_convolution,
    match_float_convolution,
)
from sardonyx._src.compile.partition.operands.rounded_products import rounds_convolution
from sardonyx._src.compile.partition.operands.window_geometry import as_image
from sardonyx._src.compile.partition.patterns.pointwise_depthwise import PointwiseDepthwiseConv
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, CHANNELS_LAST, DENSE, Step, TensorView, Window
from sardonyx._src.compile.program.operands.layout import ChannelsLast, Layout, UnitStride
from sardonyx._src.compile.program.operands.tensor import channels_last_permutation
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class DepthwiseConv:
    """The constant weights of a depthwise convolution.

    weights: [M, 1, h, w].
    bias: [M], or None.
    """

    weights: Array
    bias: Array | None
    window: Window


@dataclass(frozen=True, slots=True)
class WinogradConv:
    """A 3 by 3 convolution with unit strides.

    pads: the pads at the top and at the left.
    """

    weights: WinogradWeights
    pads: tuple[Known, ...]


@matches("Conv", 22)
def match_conv(op: BoundNode, scope: Scope) -> Region[object] | None:
    conv = match_float_convolution(op, scope)
    if conv is None:
        return match_computed_conv(op, scope)
    if not scope.is_native(conv.x):
        return None
    if (layout := layout_of_few_channels(conv)) is not None and not rounds_convolution(scope, conv):
        epilogue = fuse_without_operands(scope, op.output)
        return fused_region("PixelLanesConv", op.node, conv, (Read(conv.x, layout),), epilogue)
    epilogue, read = fuse_epilogue(scope, op.output, channels_last=True), Read(conv.x, CHANNELS_LAST)
    if rounds_convolution(scope, conv):
        weights = pack_bf16_weights(conv.weights, conv.bias, conv.window, scope.target)
        if packs_lines(conv.weights.shape[1], weights.window, BF16_PER_WORD):
            read = Read(conv.x, ChannelsLast(is_dense=True))
        return fused_region("RoundedConv", op.node, weights, (read,), epilogue, CHANNELS_LAST)
    config = choose_algorithm(conv, scope.target)
    if isinstance(config, ConvWeights) and config.uses_im2row:
        read = Read(conv.x, ANY)
    kind = {ConvWeights: "Conv", DepthwiseConv: "DepthwiseConv", WinogradConv: "WinogradConv"}[type(config)]
    return fused_region(kind, op.node, config, (read,), epilogue, CHANNELS_LAST)


def layout_of_few_channels(conv: FloatConvolution) -> Layout | None:
    """The layout of the image for a kernel of few output channels; None for other convolutions.

    A pointwise convolution to a single channel is a product by one column, which reads any layout.
    """
    if (
        conv.is_pointwise
        and len(conv.weights) == 1
        and conv.weights.shape[1] >= GemmTuning.min_terms_per_column
    ):
        return ANY
    return UnitStride(-1, DENSE) if has_pixels_in_lanes(conv) else None


def has_pixels_in_lanes(conv: FloatConvolution) -> bool:
    """Whether the kernel for few output channels, with pixels in its lanes, is faster.

    It needs lines that fill vectors, and is not used where Winograd transforms are.
    """
    columns, width, window = len(conv.weights), conv.shape[-1], conv.window
    is_wide = not isinstance(width, int) or width >= ConvTuning.min_pixel_lane_width
    is_narrow = conv.group == 1 and columns <= ConvTuning.max_pixel_lane_columns
    is_fitting = is_narrow and is_wide and window.strides[1] == 1 and window.num_taps > 1
    return is_fitting and choose_winograd(conv) is None


def choose_winograd(conv: FloatConvolution) -> TileTransforms | None:
    """The Winograd transforms that the cost model prefers; None for other algorithms."""
    shape = conv.shape
    if not conv.window.is_unit_3x3 or conv.group != 1 or len(shape) != 4:
        return None
    return choose_transforms(shape[0], shape[2], shape[3], conv.weights.shape[1], conv.weights.shape[0])


def choose_algorithm(conv: FloatConvolution, target: Target) -> ConvWeights | DepthwiseConv | WinogradConv:
    """The weights packed for the fastest algorithm."""
    window, weights, bias = conv.window, conv.weights, conv.bias
    if conv.is_depthwise:
        return DepthwiseConv(weights, bias, window)
    transforms = choose_winograd(conv)
    if transforms is not None:
        return WinogradConv(pack_winograd_weights(weights, bias, transforms, target), window.begin_pads)
    return pack_conv_weights(weights, bias, window, target, conv.group)


def match_computed_conv(op: BoundNode, scope: Scope) -> Region[object] | None:
    """The region of a Conv whose weights or bias a run computes."""
    conv = match_computed_convolution(op, scope)
    if conv is None:
        return None
    kind = "ComputedDepthwiseConv" if conv.is_depthwise else "ComputedConv"
    layout = ANY if not conv.is_depthwise and uses_im2row(conv, scope.target) else CHANNELS_LAST
    operands = [Read(value, DENSE) for value in (conv.weights, conv.bias) if value is not None]
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    return fused_region(kind, op.node, conv, (Read(conv.x, layout), *operands), epilogue, CHANNELS_LAST)


def uses_im2row(conv: ComputedConvolution, target: Target) -> bool:
    """Whether the kernel copies the image into im2row buffers, and so reads any layout."""
    total, channels = conv.dims[:2]
    shares_vectors = can_share_vectors(total, channels, conv.group, target.lanes)
    return not shares_vectors and can_use_im2row(channels, conv.window, conv.group)


@lowers("ComputedConv")
def lower_computed_conv(region: LaidOutRegion[ComputedConvolution], lowering: Lowering) -> Sequence[Step]:
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.conv.computed_weights import pack_computed_weights

    (x, weights, *bias), (y,), conv = region.operands, region.results, region.config
    packed, steps = pack_computed_weights(
        weights.reshape(conv.dims), bias[0] if bias else None, conv.window, lowering.target, conv.group
    )
    if packed.uses_im2row:
        x = x.permute(channels_last_permutation(x.rank))
    operands = tuple(map(as_image, region.epilogue_operands))
    return *steps, convolution_step(as_image(x), packed, as_image(y), region.epilogue, operands)


@lowers("ComputedDepthwiseConv")
def lower_computed_depthwise_conv(
    region: LaidOutRegion[ComputedConvolution], lowering: Lowering
) -> Sequence[Step]:
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.conv.computed_weights import pack_computed_depthwise
    from sardonyx._src.compile.kernels.depthwise import depthwise  # lazy: few models need it

    (x, weights, *bias), (y,), conv = region.operands, region.results, region.config
    packed, steps = pack_computed_depthwise(weights.reshape(conv.dims))
    operands = tuple(map(as_image, region.epilogue_operands))
    step = depthwise.depthwise_step(
        as_image(x), packed, as_image(y), bias[0] if bias else None, conv.window, region.epilogue, operands
    )  # fmt: skip
    return *steps, step


@lowers("Conv")
def lower_conv(region: LaidOutRegion[ConvWeights], lowering: Lowering) -> Step:
    (x,), (y,) = region.operands, region.results
    if region.config.uses_im2row:  # any strides: the image is only viewed as channels-last, not copied
        x = x.permute(channels_last_permutation(x.rank))
    operands = tuple(map(as_image, region.epilogue_operands))
    return convolution_step(as_image(x), region.config, as_image(y), region.epilogue, operands)


@lowers("PixelLanesConv")
def lower_pixel_lanes_conv(region: LaidOutRegion[FloatConvolution], lowering: Lowering) -> Sequence[Step]:
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.gemm.unpacked.few_columns import (
        FewColumns,
        few_columns_step,
        is_few_columns,
    )

    x, y, conv, epilogue = as_planes(region.operands[0]), region.results[0], region.config, region.epilogue
    if conv.is_pointwise:
        rows, columns = x.permute((0, 2, 3, 1)), FewColumns(conv.weights.reshape(1, -1).T, conv.bias)
        pixels = y.reshape((*rows.shape[:3], 1))
        if is_few_columns(rows, columns.matrix, pixels, epilogue, ()):
            return (few_columns_step(rows, columns, pixels, epilogue),)
    copies = []
    if x.strides[3] != 1:
        dense = lowering.temporary(x.dtype, x.shape, f"{region.name}.planes")
        x, copies = dense, [copy_step(x, dense)]
    return *copies, pixel_lanes_step(x, conv.weights, conv.bias, as_planes(y), conv.window, epilogue)


def as_planes(tensor: TensorView) -> TensorView:
    """An image [N, C, W] or [N, C, H, W] as [N, C, H, W]."""
    if tensor.rank == 4:
        return tensor
    (n, c, w), (image, channel, pixel) = tensor.shape, tensor.strides
    return replace(tensor, shape=(n, c, 1, w), strides=(image, channel, 0, pixel))


@lowers("RoundedConv")
def lower_rounded_conv(region: LaidOutRegion[ConvWeights], lowering: Lowering) -> Step:
    (x,), (y,) = region.operands, region.results
    operands = tuple(map(as_image, region.epilogue_operands))
    return bf16_convolution_step(as_image(x), region.config, as_image(y), region.epilogue, operands)


@lowers("WinogradConv")
def lower_winograd_conv(region: LaidOutRegion[WinogradConv], lowering: Lowering) -> Sequence[Step]:
    (x,), (y,), config = region.operands, region.results, region.config
    return winograd_steps(x, config.weights, y, config.pads, region.epilogue, region.epilogue_operands)


@lowers("DepthwiseConv")
def lower_depthwise_conv(region: LaidOutRegion[DepthwiseConv], lowering: Lowering) -> Step:
    from sardonyx._src.compile.kernels.depthwise import depthwise  # lazy: few models need it

    (x,), (y,), config = region.operands, region.results, region.config
    weights = lowering.constant_tensor(depthwise.pack_depthwise_weights(config.weights))
    bias = None if config.bias is None else lowering.constant_tensor(config.bias)
    operands = tuple(map(as_image, region.epilogue_operands))
    return depthwise.depthwise_step(
        as_image(x), weights, as_image(y), bias, config.window, region.epilogue, operands
    )


@lowers("PointwiseDepthwiseConv")
def lower_pointwise_depthwise_conv(region: LaidOutRegion[PointwiseDepthwiseConv], lowering: Lowering) -> Step:
    from sardonyx._src.compile.kernels.depthwise import depthwise  # lazy: few models need it

    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import pointwise_depthwise_step

    (x,), (y,), config = region.operands, region.results, region.config
    weights = lowering.constant_tensor(depthwise.pack_depthwise_weights(config.weights))
    bias = lowering.constant_tensor(config.bias)
    operands = tuple(map(as_image, region.epilogue_operands))
    return pointwise_depthwise_step(
        as_image(x), config.pointwise, config.activation, weights, bias, as_image(y), config.window,
        region.epilogue, operands,
    )  # fmt: skip
