"""Bytes in words of four, and constants of integer products in panels of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.panels import Panels, tile_of_columns
from sardonyx._src.compile.products.tiles import Tile
from sardonyx._src.compile.tensor import Storage, Tensor, product, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, exact_div
from sardonyx._src.ir.tensors import Array

WORD = 4  # bytes


def in_words(x: Tensor) -> Tensor | None:
    """Bytes [..., K], K a number, as words [..., ceil(K / 4)], of which the last one may reach beyond the row.

    None where rows are not whole words apart, or where the storage is not known to have all of the last word.
    """
    k = x.shape[-1]
    if not isinstance(k, int) or (x.strides[-1] != 1 and k != 1):
        return None
    words = -(-k // WORD)
    strides = tuple(0 if d == 1 else s for d, s in zip(x.shape[:-1], x.strides[:-1], strict=True))
    if not all(map(is_whole, (x.offset, *strides))) or (k % WORD and not has_room(x, words * WORD)):
        return None
    inner = tuple(exact_div(s, WORD) for s in strides)
    shape = (*x.shape[:-1], words)
    return replace(
        x, dtype=DataType.INT32, shape=shape, strides=(*inner, 1), offset=exact_div(x.offset, WORD)
    )


def has_room(x: Tensor, row: int) -> bool:
    """Whether the storage is known to have so many bytes from the beginning of the last row on."""
    end = x.offset + row
    for dim, stride in zip(x.shape[:-1], x.strides[:-1], strict=True):
        end = end + (dim - 1) * stride
    room = x.storage.size - end
    return isinstance(room, int) and room >= 0


def is_whole(n: Known) -> bool:
    """Whether a distance is known to be one of whole words."""
    if isinstance(n, int):
        return n % WORD == 0
    return exact_div(n, WORD) * WORD == n


def padded(dtype: DataType, shape: Sequence[Known], name: str) -> Tensor:
    """Memory of a program's own for bytes [..., K], K a number, whose rows are whole words apart."""
    *lead, k = shape
    assert isinstance(k, int), "how long rows are is known"
    whole = (*lead, -(-k // WORD) * WORD)
    storage = Storage("arena", product(whole), name)
    return Tensor(dtype, tuple(shape), row_major(whole), storage)


# --- constants -------------------------------------------------------------------------------


def packed_words(b: Array, tile: Tile) -> Array:
    """B, [..., taps, k, n] int8, as panels of words [..., panels, taps, ceil(k / 4), width], with zeros where b ends."""
    *batch, taps, k, n = b.shape
    assert b.dtype == np.int8, f"{b.dtype} is not int8"
    panels, words = -(-n // tile.width), -(-k // WORD)
    whole = np.zeros((*batch, taps, words * WORD, panels * tile.width), np.int8)
    whole[..., :k, :n] = b
    split = whole.reshape(*batch, taps, words, WORD, panels, tile.width)
    turned = np.moveaxis(np.moveaxis(split, -2, -5), -2, -1)  # panels to the front, bytes to the end
    return np.ascontiguousarray(turned).view("<i4").reshape(*batch, panels, taps, words, tile.width)


def constant_words(b: Array, target: Target, name: str = "") -> Panels:
    """Panels of a constant [..., k, columns] int8."""
    *batch, k, columns = b.shape
    tile = tile_of_columns(columns, target)
    data = packed_words(b[..., None, :, :], tile).reshape(
        *batch, -(-columns // tile.width), -(-k // WORD), tile.width
    )
    return Panels(constant(data, name), tile, columns)


def packed_sums(bias: Array, tile: Tile) -> Array:
    """A number for each column, [n] int32, with zeros up to a whole panel: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.int32)
    result.reshape(-1)[: bias.size] = bias
    return result
