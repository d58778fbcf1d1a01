"""Operands of Conv nodes in float32 over one or two spatial dims: `FloatConvolution` if weights and bias are constant,
`ComputedConvolution` if a run computes them.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.partition import BoundNode, Scope, Shape
from sardonyx._src.compile.partition.operands.window_geometry import image_window
from sardonyx._src.compile.program import Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class FloatConvolution:
    """The operands of a Conv with constant weights and bias; a single spatial dim is the width of an image of height 1.

    weights: [M, C / group, h, w].
    bias: [M], or None.
    shape: the dims of the result.
    """

    x: Value
    weights: Array
    bias: Array | None
    group: int
    window: Window
    shape: Shape

    @property
    def image_size(self) -> tuple[Known, Known]:
        """The height and width of the result."""
        height, width = (1, *self.shape[2:])[-2:]
        return height, width

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has one filter of its own."""
        return self.group == len(self.weights) and self.weights.shape[1] == 1 and self.group > 1

    @property
    def is_pointwise(self) -> bool:
        """Whether each pixel of the result is computed from the same pixel of the input, by one group of channels."""
        return self.window.is_pointwise and self.window.end_pads == (0, 0) and self.group == 1


@dataclass(frozen=True, slots=True)
class ComputedConvolution:
    """The operands of a Conv, of which a run may compute the weights and the bias.

    dims: the dims of the weights, [M, C / group, h, w].
    shape: the dims of the result.
    """

    x: Value
    weights: Value
    bias: Value | None
    group: int
    dims: tuple[int, ...]
    window: Window
    shape: Shape

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has one filter of its own."""
        return self.group == self.dims[0] > 1 and self.dims[1] == 1


def match_float_convolution(op: BoundNode, scope: Scope) -> FloatConvolution | None:
    """The operands of a Conv; None if it is not supported.  Its input may not be computed yet."""
    x, weights, bias = op.input(0), scope.constant(op.input(1)), scope.constant(op.input(2))
    if x is None or weights is None or (bias is None and op.input(2) is not None):
        return None
    shape, result, group = scope.shape(x), scope.shape(op.output), op.attribute("group", int)
    is_float = scope.dtype_of(x) is DataType.FLOAT and weights.dtype == np.float32
    if shape is None or result is None or not is_float:
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group or weights.size == 0:
        return None
    window = image_window(op, shape[2:], weights.shape[2:])
    if window is None:
        return None
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    return FloatConvolution(x, weights, bias, group, window, result)


def match_computed_convolution(op: BoundNode, scope: Scope) -> ComputedConvolution | None:
    """The operands of a Conv whose weights have static dims; None if it is not supported."""
    x, weights, bias, group = op.input(0), op.input(1), op.input(2), op.attribute("group", int)
    shape, result, kernel = scope.shape(x), scope.shape(op.output), scope.shape(weights)
    if x is None or weights is None or shape is None or result is None or kernel is None or len(kernel) < 3:
        return None
    if not all(is_native_float(scope, value) for value in (x, weights, *([] if bias is None else [bias]))):
        return None
    dims = tuple(dim for dim in kernel if isinstance(dim, int) and dim > 0)
    if len(dims) < len(kernel) or shape[1] != dims[1] * group or dims[0] % group:
        return None
    window = image_window(op, shape[2:], dims[2:])
    if window is None or (bias is not None and scope.shape(bias) != dims[:1]):
        return None
    return ComputedConvolution(x, weights, bias, group, (*dims[:2], *window.kernel), window, result)


def is_native_float(scope: Scope, value: Value) -> bool:
    """Whether kernels can read a value as float32."""
    return scope.dtype_of(value) is DataType.FLOAT and scope.is_native(value)
