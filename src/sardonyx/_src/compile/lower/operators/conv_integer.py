"""ConvInteger with constant weights, and the lowering of all integer convolutions, channels-last.

Falls back to the reference kernel for computed weights, weights that exceed int8 once their zero points are
subtracted, and groups whose channels are not a multiple of four, except in depthwise convolutions.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.conv.convolution import is_matrix_product
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.depthwise.integer_depthwise import (
    integer_depthwise_step,
    pack_int8_depthwise_weights,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.matmul_integer import epilogue_operands, integer_epilogue
from sardonyx._src.compile.partition import Region, Scope, matches
from sardonyx._src.compile.partition.operands.window_geometry import as_image
from sardonyx._src.compile.partition.quantized.integer_convolutions import (
    IntegerConvolution,
    convolution_region,
    match_integer_convolution,
)
from sardonyx._src.compile.partition.quantized.integer_epilogues import fuse_integer_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.ir.dims import dim_product


@matches("ConvInteger", 10)
def match_conv_integer(op: BoundNode, scope: Scope) -> Region[IntegerConvolution] | None:
    weights, zeros = scope.constant(op.input(1)), scope.constant(op.input(3))
    if weights is None or (zeros is None and op.input(3) is not None):
        return None
    conv = match_integer_convolution(op, scope, (op.input(0), op.input(2)), (weights, zeros))
    if conv is None:
        return None
    epilogue = fuse_integer_epilogue(scope, op.output, conv.result, channels_last=True)
    return convolution_region(op, scope, conv, epilogue)


@lowers("IntegerConv")
def lower_integer_conv(region: LaidOutRegion[IntegerConvolution], lowering: Lowering) -> Step:
    config, x, (y,) = region.config, region.operands[0], region.results
    window, is_signed = config.window, config.is_signed
    weights = pack_integer_weights(
        config.weights,
        config.initial,
        window,
        lowering.target,
        config.group,
        dim_product(as_image(y).shape[:3]),
        is_matrix=is_matrix_product(as_image(x), as_image(y), window),
        a_is_signed=is_signed,
    )
    operands = tuple(map(as_image, epilogue_operands(region, lowering)))
    zero, epilogue = padding_value(region, lowering), integer_epilogue(region)
    return integer_convolution_step(
        as_image(x), zero, weights, as_image(y), epilogue, operands, a_is_signed=is_signed
    )


def padding_value(region: LaidOutRegion[IntegerConvolution], lowering: Lowering) -> TensorView:
    """The zero point of x, with which the image is padded; 0 if there is none."""
    if region.config.zero is not None:
        return region.operands[1]
    dtype = np.int8 if region.config.is_signed else np.uint8
    return lowering.constant_tensor(np.zeros((), dtype), ("no zero point", dtype))


@lowers("IntegerDepthwiseConv")
def lower_integer_depthwise_conv(region: LaidOutRegion[IntegerConvolution], lowering: Lowering) -> Step:
    """The step of a depthwise convolution, whose kernel subtracts the zero point of x as it reads."""
    config, (x, *zeros), (y,) = region.config, region.operands, region.results
    weights = lowering.constant_tensor(pack_int8_depthwise_weights(config.weights, lowering.target))
    initial = lowering.constant_tensor(config.initial)
    operands = tuple(map(as_image, epilogue_operands(region, lowering)))
    zero, epilogue = zeros[0] if zeros else None, integer_epilogue(region)
    return integer_depthwise_step(
        as_image(x), zero, weights, initial, as_image(y), config.window, epilogue, operands
    )
