"""Conv, of constant weights: channels last, and in the way that takes the fewest operations."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.endings import ending
from sardonyx._src.compile.geometry import Geometry, geometry, image
from sardonyx._src.compile.lower.quantized import quantized_convolution
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.convolution import convolution
from sardonyx._src.compile.products.weights import Window, packed_weights
from sardonyx._src.compile.products.winograd import winograd
from sardonyx._src.compile.products.winograd_cost import forms_for
from sardonyx._src.compile.products.winograd_weights import Weights, winograd_weights
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.spatial import depthwise
from sardonyx._src.compile.spatial.window import Window as Spatial
from sardonyx._src.compile.tensor import Tensor, last_order
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@lowers("Conv", 22)
def conv(call: Call, at: Lowering) -> bool:
    if quantized_convolution(call, at):
        return True
    x, weights, bias = call.input(0), at.constant(call.input(1)), at.constant(call.input(2))
    if x is None or weights is None or (bias is None and call.input(2) is not None):
        return False
    found = windows(call, at, x, weights)
    if found is None:
        return False
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    lowered(call, at, x, (weights, bias), found)
    return True


def windows(call: Call, at: Lowering, x: Value, weights: Array) -> Geometry | None:
    """The windows, if kernels can do the convolution."""
    shape, group = at.shape(x), call.attribute("group", int)
    is_float = at.dtype_of(x) is DataType.FLOAT and weights.dtype == np.float32
    if shape is None or at.shape(call.output) is None or not is_float or not at.is_native(x):
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group or weights.size == 0:
        return None
    return geometry(call, shape[2:], weights.shape[2:])


def lowered(
    call: Call, at: Lowering, x: Value, constants: tuple[Array, Array | None], found: Geometry
) -> None:
    weights, bias = constants
    group = call.attribute("group", int)
    if group == weights.shape[0] and weights.shape[1] == 1 and group > 1:
        each_channel(call, at, x, constants, found)
        return
    shape = at.known_shape(call.output)
    forms = None
    if found.is_plain_3x3 and group == 1 and len(shape) == 4:
        forms = forms_for(shape[0], shape[2], shape[3], weights.shape[1], weights.shape[0])
    if forms is not None:
        fewer_products(call, at, x, winograd_weights(weights, bias, forms, at.target), found)
        return
    window = Window(found.kernel, found.strides, found.dilations, found.pads[:2])
    packed = packed_weights(weights, bias, window, at.target, group)
    source = any_strides(at, x) if packed.is_band else image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    at.emit(convolution(source, packed, image(end.y), end.tail, tuple(map(image, end.operands))))


def fewer_products(call: Call, at: Lowering, x: Value, weights: Weights, found: Geometry) -> None:
    """A convolution in Winograd's way."""
    source = at.channels_last(x)
    end = ending(at, call.output, channels_last=True)
    at.emit(*winograd(source, weights, end.y, found.pads[:2], end.tail, end.operands))


def any_strides(at: Lowering, x: Value) -> Tensor:
    """The value [N, C, ...] as [N, H, W, C], wherever its elements are."""
    tensor = at.strided(x)
    return image(tensor.permuted(last_order(tensor.rank)))


def each_channel(
    call: Call, at: Lowering, x: Value, constants: tuple[Array, Array | None], found: Geometry
) -> None:
    """A convolution in which every channel has a kernel of its own."""
    weights, bias = constants
    packed = at.constant_tensor(depthwise.packed(weights))
    added = None if bias is None else at.constant_tensor(bias)
    window = Spatial(found.kernel, found.strides, found.dilations, found.pads)
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    operands = tuple(map(image, end.operands))
    at.emit(depthwise.depthwise(source, packed, image(end.y), added, window, end.tail, operands))
