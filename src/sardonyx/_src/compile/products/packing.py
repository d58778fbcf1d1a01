"""How constant operands of products lie in memory: B in panels of columns, with as many numbers of a bias."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.llvm.kernels import prepare
from sardonyx._src.compile.pending import FLOAT, Pending
from sardonyx._src.compile.products.panel_kernel import KERNEL, LARGE, fill, is_together
from sardonyx._src.compile.products.tiles import Tile
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.tensors import Array


def packed(b: Array, tile: Tile) -> Array:
    """B, [..., taps, k, n] float32, as panels of `tile.width` columns: [..., panels, taps, k, width].

    Behind the last column are zeros.
    """
    return panels_of(b, tile).made()


def panels_of(b: Array, tile: Tile, *, narrow: bool = False) -> Pending:
    """What `packed` makes, made later; of float16 and bfloat16, too, whose panels are such as well if `narrow`."""
    *batch, taps, k, n = b.shape
    width, count = tile.width, -(-n // tile.width)
    put = fill_narrow if narrow else fill_wide

    def make(rows: Array, first: int) -> None:
        while len(rows):
            item, panel = divmod(first, count)
            some, last = rows[: count - panel], min(panel + len(rows), count)
            if last == count and n % width:
                some[-1] = 0.0
            put(some, b[np.unravel_index(item, batch)][..., panel * width : last * width])
            rows, first = rows[len(some) :], first + len(some)

    prepare(KERNEL)
    return Pending((*batch, count, taps, k, width), 3, b, make, b.dtype if narrow else FLOAT)


def fill_wide(panels: Array, b: Array) -> None:
    fill(panels, b.astype(np.float32, copy=False))


def fill_narrow(panels: Array, b: Array) -> None:
    """What `fill` does with float32, with elements of any type."""
    width = panels.shape[-1]
    for i, panel in enumerate(panels):
        columns = b[..., i * width : (i + 1) * width]
        panel[..., : columns.shape[-1]] = columns
    if b.nbytes >= LARGE and is_together(b):
        let_go(b)


def packed_bias(bias: Array, tile: Tile) -> Array:
    """A bias, [n] float32, with zeros up to a whole panel: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.float32)
    result.reshape(-1)[: bias.size] = bias
    return result


def constant(data: Array | Pending, name: str = "") -> Tensor:
    """A dense tensor in a constant storage of its own."""
    if not isinstance(data, Pending):
        data = np.ascontiguousarray(data)
    dtype = DataType.of(data.dtype)
    storage = Storage("constant", data.nbytes, name, data)
    return Tensor(dtype, data.shape, row_major(data.shape), storage)
