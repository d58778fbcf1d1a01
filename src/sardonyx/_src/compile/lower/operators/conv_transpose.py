"""ConvTranspose with constant weights: one stride-1 convolution per output phase, channels-last.

Falls back to the reference kernel for non-constant weights or bias, more than two spatial dims, and pads that depend on dynamic sizes.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow
from sardonyx._src.compile.kernels.conv.transposed import (
    pack_transposed_weights,
    transposed_convolution_steps,
)
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.pooling import is_image
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.lower.window_geometry import as_image, as_pair
from sardonyx._src.compile.partition.epilogues import fuse_epilogue
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.conv_transpose import Spreading


@lowers("ConvTranspose", 22)
def lower_conv_transpose(op: BoundNode, lowering: Lowering) -> bool:
    x, weights, bias = op.input(0), lowering.constant(op.input(1)), lowering.constant(op.input(2))
    if x is None or weights is None or (bias is None and op.input(2) is not None):
        return False
    window = conv_window(op, lowering, x, weights)
    if window is None or (bias is not None and bias.shape != (output_channels(op, weights),)):
        return False
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    group = op.attribute("group", int)
    phases = pack_transposed_weights(weights, bias, window, lowering.target, group)
    source = as_image(lowering.channels_last(x))
    fused = fuse_epilogue(lowering, op.output, channels_last=True)
    operands = tuple(map(as_image, fused.operands))
    lowering.emit(*transposed_convolution_steps(source, phases, as_image(fused.y), fused.epilogue, operands))
    return True


def output_channels(op: BoundNode, weights: Array) -> int:
    return int(weights.shape[1]) * op.attribute("group", int)


def conv_window(op: BoundNode, lowering: Lowering, x: Value, weights: Array) -> ConvWindow | None:
    """The window; None if the convolution is not supported or its shapes are inconsistent."""
    if not is_image(lowering, x) or weights.dtype != np.float32 or weights.size == 0:
        return None
    shape, result, group = lowering.known_shape(x), lowering.shape(op.output), op.attribute("group", int)
    if result is None or weights.ndim != len(shape) or group < 1 or weights.shape[0] % group:
        return None
    if shape[1] != weights.shape[0] or result[:2] != (shape[0], output_channels(op, weights)):
        return None
    kernel = weights.shape[2:]
    if (op.ints("kernel_shape") or kernel) != kernel:
        return None
    return resolve_window(op, lowering, x, kernel)


def resolve_window(op: BoundNode, lowering: Lowering, x: Value, kernel: tuple[int, ...]) -> ConvWindow | None:
    """The window over two dims; None if pads depend on dynamic sizes, or attributes are invalid."""
    rank, sizes = len(kernel), lowering.known_shape(x)[2:]
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
    unit, zero = (1,) * (2 - rank), (0,) * (2 - rank)
    kernel_size, strides, dilations = (
        as_pair((*unit, *values)) for values in (kernel, attributes.strides, attributes.dilations)
    )
    return ConvWindow(kernel_size, strides, dilations, as_pair((*zero, *pads_before)))
