"""How constant operands of products lie in memory: B in panels of columns, with as many numbers of a bias."""

from __future__ import annotations

import numpy as np

from sardonyx.compile.llvm.kernels import prepare
from sardonyx.compile.pending import Pending
from sardonyx.compile.products.panel_kernel import KERNEL, fill
from sardonyx.compile.products.tiles import Tile
from sardonyx.compile.tensor import Storage, Tensor, row_major
from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array


def packed(b: Array, tile: Tile) -> Array:
    """B, [..., taps, k, n] float32, as panels of `tile.width` columns: [..., panels, taps, k, width].

    Behind the last column are zeros.
    """
    return panels_of(b, tile).made()


def panels_of(b: Array, tile: Tile) -> Pending:
    """What `packed` makes, made later."""
    *batch, taps, k, n = b.shape
    width, count = tile.width, -(-n // tile.width)

    def make(rows: Array, first: int) -> None:
        while len(rows):
            item, panel = divmod(first, count)
            some, last = rows[: count - panel], min(panel + len(rows), count)
            if last == count and n % width:
                some[-1] = 0.0
            fill(some, b[np.unravel_index(item, batch)][..., panel * width : last * width])
            rows, first = rows[len(some) :], first + len(some)

    prepare(KERNEL)
    return Pending((*batch, count, taps, k, width), 3, b, make)


def packed_bias(bias: Array, tile: Tile) -> Array:
    """A bias, [n] float32, with zeros up to a whole panel: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.float32)
    result.reshape(-1)[: bias.size] = bias
    return result


def constant(data: Array | Pending, name: str = "") -> Tensor:
    """A dense tensor in a constant storage of its own."""
    if isinstance(data, Pending):
        dtype = DataType.FLOAT
    else:
        data = np.ascontiguousarray(data)
        dtype = DataType.of(data.dtype)
    storage = Storage("constant", data.nbytes, name, data)
    return Tensor(dtype, data.shape, row_major(data.shape), storage)
