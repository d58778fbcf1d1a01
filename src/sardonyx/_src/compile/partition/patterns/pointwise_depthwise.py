"""A pointwise Conv and the depthwise Conv that alone reads its result, perhaps after an activation.

Where the image between them does not fit the level-2 cache, the depthwise kernel is bound by memory; fused, the image is
never written (`kernels.depthwise.pointwise_depthwise`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWeights, ConvWindow, pack_conv_weights
from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import ring_size, window_rows
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.tuning.tuning import ConvTuning, PointwiseDepthwiseTuning
from sardonyx._src.compile.partition.epilogues import fuse_epilogue, fuse_without_operands
from sardonyx._src.compile.partition.float_convolutions import FloatConvolution, match_float_convolution
from sardonyx._src.compile.partition.region import FusedEpilogue, Read, Region, Write
from sardonyx._src.compile.partition.registry import fuses
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import CHANNELS_LAST
from sardonyx._src.ir.tensors import Array


@dataclass(frozen=True, slots=True)
class PointwiseDepthwiseConv:
    """weights: those of the depthwise convolution, [M, 1, h, w].  bias: [M]."""

    pointwise: ConvWeights
    activation: Epilogue
    weights: Array
    bias: Array
    window: SlidingWindow


@fuses("Conv", 22)
def match_pointwise_depthwise(op: BoundNode, scope: Scope) -> Region[PointwiseDepthwiseConv] | None:
    first = match_float_convolution(op, scope)
    if first is None or not first.is_pointwise or not scope.is_native(first.x):
        return None
    if first.weights.shape[1] > ConvTuning.max_block_terms:  # the kernel has one reduction block
        return None
    activation = fuse_without_operands(scope, op.output)
    second_op = bind_depthwise(scope, activation)
    second = None if second_op is None else match_float_convolution(second_op, scope)
    if second_op is None or second is None or not is_profitable(first, second):
        return None
    bias = np.zeros(len(second.weights), np.float32) if second.bias is None else second.bias
    pointwise = pack_conv_weights(first.weights, first.bias, ConvWindow(), scope.target)
    config = PointwiseDepthwiseConv(pointwise, activation.epilogue, second.weights, bias, second.geometry)
    epilogue = fuse_epilogue(scope, second_op.output, channels_last=True)
    nodes = (op.node, *activation.nodes, second_op.node, *epilogue.nodes)
    reads, writes = (Read(first.x, CHANNELS_LAST),), (Write(epilogue.result, CHANNELS_LAST),)
    return Region("PointwiseDepthwiseConv", nodes, config, reads, writes, epilogue=epilogue)


def bind_depthwise(scope: Scope, activation: FusedEpilogue) -> BoundNode | None:
    """The Conv that alone reads the result of the activation."""
    node = scope.sole_consumer(activation.result)
    if node is None or node.op_type != "Conv" or node.domain or node.inputs[0] is not activation.result:
        return None
    return scope.bind_node(node)


def is_profitable(first: FloatConvolution, second: FloatConvolution) -> bool:
    """Whether the kernel supports both convolutions, and is faster than their own."""
    window, weights = second.geometry, first.weights
    shared_rows = window_rows(window) - window.strides[0]
    top = second.geometry.pads[0]
    if not second.is_depthwise or shared_rows < 0:
        return False
    if not isinstance(top, int) or top >= window_rows(window):
        return False
    if (
        len(weights) < PointwiseDepthwiseTuning.min_channels
        or weights.nbytes > PointwiseDepthwiseTuning.max_weight_bytes
    ):
        return False
    height, width = first.image_size
    if isinstance(height, int) and height < PointwiseDepthwiseTuning.min_height_ratio * max(shared_rows, 1):
        return False
    if not isinstance(height, int) or not isinstance(width, int):
        return len(weights) <= PointwiseDepthwiseTuning.max_dynamic_channels
    row_bytes = width * len(weights) * weights.itemsize
    return (
        row_bytes * height >= PointwiseDepthwiseTuning.min_image_bytes
        and row_bytes * ring_size(window) <= PointwiseDepthwiseTuning.ring_bytes
    )
