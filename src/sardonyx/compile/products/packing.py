"""How operands of products lie in memory: B in panels, rows of A by their addresses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx.compile.products.kernel import Tile
from sardonyx.ir.tensors import Array


def packed(b: Array, tile: Tile) -> Array:
    """B, [taps, k, n] float32, as panels of `tile.width` columns: [panels, taps, k, width], zeros behind the last column."""
    taps, k, n = b.shape
    panels = -(-n // tile.width)
    padded = np.zeros((taps, k, panels * tile.width), np.float32)
    padded[:, :, :n] = b
    return np.ascontiguousarray(padded.reshape(taps, k, panels, tile.width).transpose(2, 0, 1, 3))


def padded(bias: Array, tile: Tile) -> Array:
    """A bias, [n] float32, with zeros up to a whole panel."""
    result = np.zeros(-(-bias.size // tile.width) * tile.width, np.float32)
    result[: bias.size] = bias
    return result


def row_addresses(address: int, count: int, stride: int, tile: Tile) -> NDArray[np.int64]:
    """Where the rows of a matrix are: [blocks, 1, tile.rows]; behind the last row stands its own address again.

    address: of the first row.  stride: from row to row, in bytes.
    """
    blocks = -(-count // tile.rows)
    numbers = np.minimum(np.arange(blocks * tile.rows, dtype=np.int64), max(count - 1, 0))
    return (address + numbers * stride).reshape(blocks, 1, tile.rows)
