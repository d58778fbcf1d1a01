"""How constant operands of products lie in memory: B in panels of columns, with as many numbers of a bias."""

from __future__ import annotations

import numpy as np

from sardonyx.compile.products.tiles import Tile
from sardonyx.compile.tensor import Storage, Tensor, row_major
from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array


def packed(b: Array, tile: Tile) -> Array:
    """B, [taps, k, n] float32, as panels of `tile.width` columns: [panels, taps, k, width], zeros behind the last column."""
    taps, k, n = b.shape
    panels = -(-n // tile.width)
    padded = np.zeros((taps, k, panels * tile.width), np.float32)
    padded[:, :, :n] = b
    return np.ascontiguousarray(padded.reshape(taps, k, panels, tile.width).transpose(2, 0, 1, 3))


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
