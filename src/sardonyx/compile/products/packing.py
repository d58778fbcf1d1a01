"""How constant operands of products lie in memory: B in panels of columns, with as many numbers of a bias."""

from __future__ import annotations

import numpy as np

from sardonyx.compile.products.panel_kernel import fill
from sardonyx.compile.products.tiles import Tile
from sardonyx.compile.tensor import Storage, Tensor, row_major
from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array


def packed(b: Array, tile: Tile) -> Array:
    """B, [..., taps, k, n] float32, as panels of `tile.width` columns: [..., panels, taps, k, width].

    Behind the last column are zeros.
    """
    *batch, taps, k, n = b.shape
    panels = -(-n // tile.width)
    shape = (*batch, panels, taps, k, tile.width)
    result = np.zeros(shape, np.float32) if n % tile.width else np.empty(shape, np.float32)
    for index in np.ndindex(*batch):
        fill(result[index], b[index])
    return result


def packed_bias(bias: Array, tile: Tile) -> Array:
    """A bias, [n] float32, with zeros up to a whole panel: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.float32)
    result.reshape(-1)[: bias.size] = bias
    return result


def constant(data: Array, name: str = "") -> Tensor:
    """A dense tensor in a constant storage of its own."""
    data = np.ascontiguousarray(data)
    storage = Storage("constant", data.nbytes, name, data)
    return Tensor(DataType.of(data.dtype), data.shape, row_major(data.shape), storage)
