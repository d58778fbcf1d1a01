"""Packs constant operands at compile time: B into column panels, and a bias padded to whole panels.

Panels of B [..., taps, k, n] are [..., panels, taps, k, width], where `width` is the number of columns of the register
tile; a matrix product has one tap, a convolution one for each position of its kernel.  Panels are lazy constants, packed
when they are first read.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.gemm.packing.packing_kernel import (
    PACKING_KERNEL,
    copy_into_panels,
    is_compact,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.lazy_constants import FLOAT32, LazyConstant
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array


def make_lazy_panels(b: Array, tile: RegisterTile, *, keep_half: bool = False) -> LazyConstant:
    """The panels [..., panels, taps, k, width] of B [..., taps, k, n]; columns past the last one are zeros.

    The elements are float32, or of the half-precision type of B if `keep_half`.
    """
    *batch, taps, k, n = b.shape
    width, num_panels = tile.width, -(-n // tile.width)
    pack = pack_as_half if keep_half else pack_as_float32

    def compute_rows(panels: Array, first: int) -> None:
        while len(panels):
            item, panel = divmod(first, num_panels)
            item_panels, end = panels[: num_panels - panel], min(panel + len(panels), num_panels)
            if end == num_panels and n % width:
                item_panels[-1] = 0.0
            pack(item_panels, b[np.unravel_index(item, batch)][..., panel * width : end * width])
            panels, first = panels[len(item_panels) :], first + len(item_panels)

    compile_kernel_async(PACKING_KERNEL)
    return LazyConstant(
        (*batch, num_panels, taps, k, width), 3, b, compute_rows, b.dtype if keep_half else FLOAT32
    )


def pack_as_float32(panels: Array, b: Array) -> None:
    """Copies B [taps, k, n] into float32 panels [panels, taps, k, width] by native code."""
    copy_into_panels(panels, b.astype(np.float32, copy=False))


def pack_as_half(panels: Array, b: Array) -> None:
    """Copies B [taps, k, n] of half precision into panels of its own type."""
    width = panels.shape[-1]
    for i, panel in enumerate(panels):
        columns = b[..., i * width : (i + 1) * width]
        panel[..., : columns.shape[-1]] = columns
    if b.nbytes >= GemmTuning.min_released_bytes and is_compact(b):
        release_pages(b)


def pack_bias(bias: Array, tile: RegisterTile) -> Array:
    """A bias [n] float32, padded with zeros to whole panels: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.float32)
    result.reshape(-1)[: bias.size] = bias
    return result


def make_constant(data: Array | LazyConstant, name: str = "") -> TensorView:
    """A dense tensor in a constant buffer of its own."""
    if not isinstance(data, LazyConstant):
        data = np.ascontiguousarray(data)
    dtype = DataType.of(data.dtype)
    buffer = Buffer("constant", data.nbytes, name, data)
    return TensorView(dtype, data.shape, row_major_strides(data.shape), buffer)
