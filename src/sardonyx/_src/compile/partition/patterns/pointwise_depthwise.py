"""A pointwise Conv followed by a depthwise Conv, the only reader of its result, perhaps with an activation between them.

Where the image between them does not fit in the level-2 cache, memory bounds the speed of the depthwise kernel.  The
fused kernel never writes that image (`kernels.depthwise.pointwise_depthwise`).
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, pack_conv_weights
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.tuning import ConvTuning, PointwiseDepthwiseTuning
from sardonyx._src.compile.partition import BoundNode, FusedEpilogue, Read, Region, Scope, Write, fuses
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue, fuse_without_operands
from sardonyx._src.compile.partition.operands.float_convolutions import (
    FloatConvolution,
    match_float_convolution,
)
from sardonyx._src.compile.program import CHANNELS_LAST, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class PointwiseDepthwiseConv:
    """weights: the weights of the depthwise convolution, [M, 1, h, w].
    bias: the bias of the depthwise convolution, [M].
    """

    pointwise: ConvWeights
    activation: Epilogue
    weights: Array
    bias: Array
    window: Window


@fuses("Conv", 22)
def match_pointwise_depthwise(op: BoundNode, scope: Scope) -> Region[PointwiseDepthwiseConv] | None:
    kernel = (scope.shape(op.input(1)) or ())[2:]
    if any(size != 1 for size in kernel):
        return None
    activation = fuse_without_operands(scope, op.output)
    depthwise_op = bind_depthwise(scope, activation)
    if depthwise_op is None:
        return None  # before constants are read, which may have to be dequantized
    pointwise = match_float_convolution(op, scope)
    if pointwise is None or not pointwise.is_pointwise or not scope.is_native(pointwise.x):
        return None
    if pointwise.weights.shape[1] > ConvTuning.max_block_terms:  # the kernel has one reduction block
        return None
    depthwise = match_float_convolution(depthwise_op, scope)
    if depthwise is None or not is_profitable(pointwise, depthwise):
        return None
    bias = np.zeros(len(depthwise.weights), np.float32) if depthwise.bias is None else depthwise.bias
    packed = pack_conv_weights(pointwise.weights, pointwise.bias, Window(), scope.target)
    config = PointwiseDepthwiseConv(packed, activation.epilogue, depthwise.weights, bias, depthwise.window)
    epilogue = fuse_epilogue(scope, depthwise_op.output, channels_last=True)
    nodes = (op.node, *activation.nodes, depthwise_op.node, *epilogue.nodes)
    reads, writes = (Read(pointwise.x, CHANNELS_LAST),), (Write(epilogue.result, CHANNELS_LAST),)
    return Region("PointwiseDepthwiseConv", nodes, config, reads, writes, epilogue=epilogue)


def bind_depthwise(scope: Scope, activation: FusedEpilogue) -> BoundNode | None:
    """The Conv that is the only reader of the activation's result; None if there is none."""
    node = scope.sole_consumer(activation.result)
    if node is None or node.op_type != "Conv" or node.domain or node.inputs[0] is not activation.result:
        return None
    return scope.bind_node(node)


def is_profitable(pointwise: FloatConvolution, depthwise: FloatConvolution) -> bool:
    """Whether the fused kernel supports both convolutions, and is faster than two kernels."""
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import ring_size

    window, weights = depthwise.window, pointwise.weights
    shared_rows = window.spans[0] - window.strides[0]
    top = window.begin_pads[0]
    if not depthwise.is_depthwise or shared_rows < 0:
        return False
    if not isinstance(top, int) or top >= window.spans[0]:
        return False
    if (
        len(weights) < PointwiseDepthwiseTuning.min_channels
        or weights.nbytes > PointwiseDepthwiseTuning.max_weight_bytes
    ):
        return False
    height, width = pointwise.image_size
    if isinstance(height, int) and height < PointwiseDepthwiseTuning.min_height_ratio * max(shared_rows, 1):
        return False
    if not isinstance(height, int) or not isinstance(width, int):
        return len(weights) <= PointwiseDepthwiseTuning.max_dynamic_channels
    row_bytes = width * len(weights) * weights.itemsize
    return (
        row_bytes * height >= PointwiseDepthwiseTuning.min_image_bytes
        and row_bytes * ring_size(window) <= PointwiseDepthwiseTuning.ring_bytes
    )
