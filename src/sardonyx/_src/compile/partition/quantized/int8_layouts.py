"""Layouts of 8-bit tensors: rows and pixels as packed int8x4 words, and results padded to whole words."""

from __future__ import annotations

from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import (
    INT8_PER_WORD,
    make_padded_temporary,
    view_as_int8x4,
)
from sardonyx._src.compile.partition import Scope, Shape
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE, TensorView, element_bytes
from sardonyx._src.compile.program.operands.layout import CustomLayout, Layout
from sardonyx._src.compile.program.operands.tensor import (
    channels_first_permutation,
    channels_last_permutation,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value


def as_pixels(tensor: TensorView) -> TensorView:
    """A tensor [N, C, ...] as [N, ..., C]."""
    return tensor.permute(channels_last_permutation(tensor.rank))


def make_padded_pixels(dtype: DataType, shape: Shape, name: str) -> TensorView:
    """A temporary [N, C, ...], channels innermost in memory, whose pixels are padded to whole words."""
    permuted = [shape[i] for i in channels_last_permutation(len(shape))]
    return make_padded_temporary(dtype, permuted, name).permute(channels_first_permutation(len(shape)))


INT8X4_ROWS = CustomLayout("int8x4 rows", view_as_int8x4, make_padded_temporary)
INT8X4_PIXELS = CustomLayout(
    "int8x4 pixels", lambda tensor: view_as_int8x4(as_pixels(tensor)), make_padded_pixels
)
PADDED_ROWS = CustomLayout("padded rows", lambda tensor: tensor, make_padded_temporary, DENSE)
PADDED_PIXELS = CustomLayout("padded pixels", as_pixels, make_padded_pixels, CHANNELS_LAST)


def padded_layout(scope: Scope, value: Value, *, channels_last: bool) -> Layout:
    """The layout of a result: rows or pixels of 8-bit elements are padded, as integer kernels read whole words."""
    layout, padded = (CHANNELS_LAST, PADDED_PIXELS) if channels_last else (DENSE, PADDED_ROWS)
    shape = scope.known_shape(value)
    if not shape or element_bytes(scope.dtype(value)) != 1:
        return layout
    inner = shape[1] if channels_last and len(shape) > 1 else shape[-1]
    return padded if isinstance(inner, int) and inner % INT8_PER_WORD else layout
