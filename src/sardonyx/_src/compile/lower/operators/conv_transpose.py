"""ConvTranspose: one stride-1 convolution per output phase, channels-last.

The output pixels at one position relative to the strides are a phase; their convolutions interleave.  Steps pack
weights and a bias that a run computes.  Falls back to the reference kernel for constant weights that are not finite,
weights of dynamic dims, more than two spatial dims, pads that depend on dynamic sizes, and more than `MAX_PHASES`
phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sardonyx._src.compile.kernels.conv.transposed import (
    OutputPhase,
    pack_computed_transposed_weights,
    pack_transposed_weights,
    transposed_convolution_steps,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, fused_region, matches
from sardonyx._src.compile.partition.fusion.epilogues import fuse_epilogue
from sardonyx._src.compile.partition.operands.float_convolutions import is_native_float
from sardonyx._src.compile.partition.operands.window_geometry import as_image, is_image
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import CHANNELS_LAST, Step, TensorView
from sardonyx._src.compile.program.operands.window import Window, window_of_attributes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.nn.conv_transpose import Spreading

MAX_PHASES = (
    1024  # each is a step with packed weights; strides of 32 in two dims, as in upsampling to pixels, fit
)


@dataclass(frozen=True, slots=True)
class TransposedConv:
    """A transposed convolution.

    dims: the dims of the weights, [C, M / groups, h, w].
    weights: the constant weights; None if a run computes weights or bias.
    bias: the constant bias; None if a run computes weights or bias, or there is no bias.
    """

    dims: tuple[int, ...]
    weights: Array | None
    bias: Array | None
    window: Window
    groups: int


@matches("ConvTranspose", 22)
def match_conv_transpose(op: BoundNode, scope: Scope) -> Region[TransposedConv] | None:
    x, weights, bias = op.input(0), op.input(1), op.input(2)
    if x is None or weights is None or not is_image(scope, x) or not is_native_float(scope, weights):
        return None
    dims, group = static_dims(scope, weights), op.attribute("group", int)
    window = None if dims is None else conv_window(op, scope, x, dims)
    if dims is None or window is None:
        return None
    if bias is not None and not (is_native_float(scope, bias) and scope.shape(bias) == (dims[1] * group,)):
        return None
    constants = scope.constant(weights), scope.constant(bias)
    if constants[0] is not None and not np.isfinite(constants[0]).all():
        return None  # the kernels multiply weights by the zeros around the image
    is_constant = constants[0] is not None and (bias is None or constants[1] is not None)
    matrix, vector = constants if is_constant else (None, None)
    channels, columns = dims[:2]
    shape = (channels, columns, *window.kernel)
    config = TransposedConv(shape, None if matrix is None else matrix.reshape(shape), vector, window, group)
    computed = () if is_constant else tuple(Read(value) for value in (weights, bias) if value is not None)
    epilogue = fuse_epilogue(scope, op.output, channels_last=True)
    reads = (Read(x, CHANNELS_LAST), *computed)
    return fused_region("ConvTranspose", op.node, config, reads, epilogue, CHANNELS_LAST)


def static_dims(scope: Scope, weights: Value) -> tuple[int, ...] | None:
    """The dims of weights; None if one is 0 or not a number."""
    shape = scope.known_shape(weights)
    dims = tuple(dim for dim in shape if isinstance(dim, int) and dim > 0)
    return dims if len(dims) == len(shape) else None


def conv_window(op: BoundNode, scope: Scope, x: Value, dims: tuple[int, ...]) -> Window | None:
    """The window; None if the convolution is not supported or its shapes are inconsistent.  dims: the dims of the weights."""
    shape, result, group = scope.known_shape(x), scope.shape(op.output), op.attribute("group", int)
    if result is None or len(dims) != len(shape) or group < 1 or dims[0] % group:
        return None
    if shape[1] != dims[0] or result[:2] != (shape[0], dims[1] * group):
        return None
    kernel = dims[2:]
    if (op.ints("kernel_shape") or kernel) != kernel:
        return None
    return resolve_window(op, scope, x, kernel)


def resolve_window(op: BoundNode, scope: Scope, x: Value, kernel: tuple[int, ...]) -> Window | None:
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
        windows = None if is_explicit else attributes.windows(numbers, kernel)
    except EvaluationError:
        return None  # the reference kernel reports the error
    if prod(attributes.strides) > MAX_PHASES:
        return None
    pads = attributes.pads if windows is None else (*windows.before, *windows.after)
    return window_of_attributes(kernel, attributes.strides, attributes.dilations, pads).as_image()


@lowers("ConvTranspose")
def lower_conv_transpose(region: LaidOutRegion[TransposedConv], lowering: Lowering) -> Sequence[Step]:
    config, (x, *computed), (y,) = region.config, region.operands, region.results
    operands = tuple(map(as_image, region.epilogue_operands))
    phases, steps = pack_phases(config, computed, lowering)
    products = transposed_convolution_steps(as_image(x), phases, as_image(y), region.epilogue, operands)
    return *steps, *products


def pack_phases(
    config: TransposedConv, computed: Sequence[TensorView], lowering: Lowering
) -> tuple[tuple[OutputPhase, ...], Sequence[Step]]:
    """The weights of each phase, packed at compile time if they are constant, otherwise by steps."""
    target, window, groups = lowering.target, config.window, config.groups
    if config.weights is not None:
        return pack_transposed_weights(config.weights, config.bias, window, target, groups), ()
    weights, *bias = computed
    return pack_computed_transposed_weights(
        weights.reshape(config.dims), bias[0] if bias else None, window, target, groups, lowering.status
    )
