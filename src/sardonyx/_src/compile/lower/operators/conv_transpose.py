"""ConvTranspose with constant weights: one stride-1 convolution per output phase, channels-last.

Falls back to the reference kernel for non-constant or infinite weights, non-constant bias, more than two spatial dims, pads that depend on dynamic sizes, and
strides of more than `MAX_PHASES` output phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow
from sardonyx._src.compile.kernels.conv.transposed import (
    pack_transposed_weights,
    transposed_convolution_steps,
)
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.region import Read, Region, fused_region
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.partition.window_geometry import as_image, as_pair
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import CHANNELS_LAST
from sardonyx._src.compile.program.step import Step
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.conv_transpose import Spreading

MAX_PHASES = (
    1024  # each is a step with packed weights; up to strides of 32 in two dims, as upsampling to pixels has
)


@dataclass(frozen=True, slots=True)
class TransposedConv:
    """weights: [C, M / groups, h, w].  bias: [M], or None."""

    weights: Array
    bias: Array | None
    window: ConvWindow
    groups: int


@matches("ConvTranspose", 22)
def match_conv_transpose(op: BoundNode, scope: Scope) -> Region[TransposedConv] | None:
    x, weights, bias = op.input(0), scope.constant(op.input(1)), scope.constant(op.input(2))
    if x is None or weights is None or (bias is None and op.input(2) is not None):
        return None
    window = conv_window(op, scope, x, weights)
    if window is None or (bias is not None and bias.shape != (output_channels(op, weights),)):
        return None
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    config = TransposedConv(weights, bias, window, op.attribute("group", int))
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    reads = (Read(x, CHANNELS_LAST),)
    return fused_region("ConvTranspose", op.node, config, reads, epilogue, CHANNELS_LAST)


def output_channels(op: BoundNode, weights: Array) -> int:
    return int(weights.shape[1]) * op.attribute("group", int)


def conv_window(op: BoundNode, scope: Scope, x: Value, weights: Array) -> ConvWindow | None:
    """The window; None if the convolution is not supported or its shapes are inconsistent."""
    if not is_image(scope, x) or weights.dtype != np.float32 or weights.size == 0:
        return None
    if not np.isfinite(weights).all():  # the kernels multiply weights by the zeros around the image
        return None
    shape, result, group = scope.known_shape(x), scope.shape(op.output), op.attribute("group", int)
    if result is None or weights.ndim != len(shape) or group < 1 or weights.shape[0] % group:
        return None
    if shape[1] != weights.shape[0] or result[:2] != (shape[0], output_channels(op, weights)):
        return None
    kernel = weights.shape[2:]
    if (op.ints("kernel_shape") or kernel) != kernel:
        return None
    return resolve_window(op, scope, x, kernel)


def resolve_window(op: BoundNode, scope: Scope, x: Value, kernel: tuple[int, ...]) -> ConvWindow | None:
    """The window over two dims; None if pads depend on dynamic sizes, or attributes are invalid."""
    rank, sizes = len(kernel), scope.known_shape(x)[2:]
    names = ("strides", "dilations", "output_padding", "pads", "output_shape")
    numbers = [kernel_size for kernel_size in sizes if isinstance(kernel_size, int)]
    try:
        attributes = Spreading.of(
            rank, op.version, op.attribute("auto_pad", str), *(op.ints(name) for name in names)
        )
        is_explicit = attributes.output_shape is None and not attributes.auto_pad.startswith("SAME")
        if len(numbers) < rank and not is_explicit:
            return None
        pads_before = attributes.pads[:rank] if is_explicit else attributes.windows(numbers, kernel).before
    except EvaluationError:
        return None  # the reference kernel reports the error
    if prod(attributes.strides) > MAX_PHASES:
        return None
    unit, zero = (1,) * (2 - rank), (0,) * (2 - rank)
    kernel_size, strides, dilations = (
        as_pair((*unit, *values)) for values in (kernel, attributes.strides, attributes.dilations)
    )
    return ConvWindow(kernel_size, strides, dilations, as_pair((*zero, *pads_before)))


@lowers("ConvTranspose")
def lower_conv_transpose(region: LaidOutRegion[TransposedConv], lowering: Lowering) -> Sequence[Step]:
    config, (x,), (y,) = region.config, region.operands, region.results
    phases = pack_transposed_weights(
        config.weights, config.bias, config.window, lowering.target, config.groups
    )
    operands = tuple(map(as_image, region.epilogue_operands))
    return transposed_convolution_steps(as_image(x), phases, as_image(y), region.epilogue, operands)
