"""ConvTranspose, of constant weights: a convolution for each phase of the result's pixels, channels last."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.endings import ending
from sardonyx._src.compile.geometry import image, pair
from sardonyx._src.compile.lower.pooling import is_image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.transposed import packed_transposed, transposed_convolution
from sardonyx._src.compile.products.weights import Window
from sardonyx._src.compile.registry import lowers
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.conv_transpose import Spreading


@lowers("ConvTranspose", 22)
def conv_transpose(call: Call, at: Lowering) -> bool:
    x, weights, bias = call.input(0), at.constant(call.input(1)), at.constant(call.input(2))
    if x is None or weights is None or (bias is None and call.input(2) is not None):
        return False
    window = window_of(call, at, x, weights)
    if window is None or (bias is not None and bias.shape != (columns(call, weights),)):
        return False
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    group = call.attribute("group", int)
    phases = packed_transposed(weights, bias, window, at.target, group)
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    operands = tuple(map(image, end.operands))
    at.emit(*transposed_convolution(source, phases, image(end.y), end.tail, operands))
    return True


def columns(call: Call, weights: Array) -> int:
    return int(weights.shape[1]) * call.attribute("group", int)


def window_of(call: Call, at: Lowering, x: Value, weights: Array) -> Window | None:
    """The window, if kernels can do the convolution."""
    if not is_image(at, x) or weights.dtype != np.float32 or weights.size == 0:
        return None
    shape, result, group = at.known_shape(x), at.shape(call.output), call.attribute("group", int)
    if result is None or weights.ndim != len(shape) or group < 1 or weights.shape[0] % group:
        return None
    if shape[1] != weights.shape[0] or result[:2] != (shape[0], columns(call, weights)):
        return None
    kernel = weights.shape[2:]
    if (call.ints("kernel_shape") or kernel) != kernel:
        return None
    return spread(call, at, x, kernel)


def spread(call: Call, at: Lowering, x: Value, kernel: tuple[int, ...]) -> Window | None:
    """The window in two dims; None where pads follow from sizes that are no numbers, or attributes do not fit."""
    rank, sizes = len(kernel), at.known_shape(x)[2:]
    names = ("strides", "dilations", "output_padding", "pads", "output_shape")
    numbers = [size for size in sizes if isinstance(size, int)]
    try:
        how = Spreading.of(
            rank, call.version, call.attribute("auto_pad", str), *(call.ints(name) for name in names)
        )
        is_explicit = how.output_shape is None and not how.auto_pad.startswith("SAME")
        if len(numbers) < rank and not is_explicit:
            return None
        before = how.pads[:rank] if is_explicit else how.windows(numbers, kernel).before
    except EvaluationError:
        return None  # the reference kernel says what is wrong
    one, none = (1,) * (2 - rank), (0,) * (2 - rank)
    size, strides, dilations = (pair((*one, *some)) for some in (kernel, how.strides, how.dilations))
    return Window(size, strides, dilations, pair((*none, *before)))
