"""Packed int8x4 operands of integer GEMMs: rows of A viewed as i32 words, constant B packed into panels of words.

A word packs four consecutive elements along k.  A [..., K] is viewed as [..., ceil(K / 4)] words in the same memory.  The
last word may reach past the row: its surplus elements are multiplied by zeros of B.  B [..., taps, k, n] becomes
[..., panels, taps, ceil(k / 4), width] words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import multiplies_signed
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_int8_tile
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, ceil_div, dim_product, exact_div

if TYPE_CHECKING:
    from sardonyx._src.compile.kernels.gemm.packing.panels import Panels


INT8_PER_WORD = 4


def view_as_int8x4(x: TensorView) -> TensorView | None:
    """A tensor [..., K] of 8-bit elements as i32 words [..., ceil(K / 4)]; the last word may reach past the row.

    None if a stride is not known to be a multiple of a word, or if the buffer might end within the last word.
    """
    k = x.shape[-1]
    if x.strides[-1] != 1 and k != 1:
        return None
    num_words = ceil_div(k, INT8_PER_WORD)
    strides = tuple(0 if d == 1 else s for d, s in zip(x.shape[:-1], x.strides[:-1], strict=True))
    if not all(map(is_multiple_of_word, (x.offset, *strides))) or (
        not is_multiple_of_word(k) and not has_padding_after_rows(x, num_words * INT8_PER_WORD)
    ):
        return None
    inner = tuple(exact_div(s, INT8_PER_WORD) for s in strides)
    shape = (*x.shape[:-1], num_words)
    return replace(
        x, dtype=DataType.INT32, shape=shape, strides=(*inner, 1), offset=exact_div(x.offset, INT8_PER_WORD)
    )


def has_padding_after_rows(x: TensorView, row: Known) -> bool:
    """Whether the buffer is known to have `row` bytes from the beginning of the last row on."""
    end = x.offset + row
    for dim, stride in zip(x.shape[:-1], x.strides[:-1], strict=True):
        end = end + (dim - 1) * stride
    room = x.buffer.size - end
    return isinstance(room, int) and room >= 0


def is_multiple_of_word(n: Known) -> bool:
    """Whether a stride or offset in bytes is known to be a multiple of a word."""
    if isinstance(n, int):
        return n % INT8_PER_WORD == 0
    return exact_div(n, INT8_PER_WORD) * INT8_PER_WORD == n


def make_padded_temporary(dtype: DataType, shape: Sequence[Known], name: str) -> TensorView:
    """A tensor [..., K] of 8-bit elements in the arena, whose rows are padded to whole words."""
    *batch, k = shape
    padded = (*batch, ceil_div(k, INT8_PER_WORD) * INT8_PER_WORD)
    buffer = Buffer("arena", dim_product(padded), name)
    return TensorView(dtype, tuple(shape), row_major_strides(padded), buffer)


# --- constants -------------------------------------------------------------------------------


def pack_int8_panels(b: Array, tile: RegisterTile) -> Array:
    """B [..., taps, k, n] int8 as panels of words [..., panels, taps, ceil(k / 4), width], padded with zeros."""
    *batch, taps, k, n = b.shape
    assert b.dtype == np.int8, f"B must be int8; got {b.dtype}"
    panels, num_words = -(-n // tile.width), -(-k // INT8_PER_WORD)
    padded = np.zeros((*batch, taps, num_words * INT8_PER_WORD, panels * tile.width), np.int8)
    padded[..., :k, :n] = b
    blocks = padded.reshape(*batch, taps, num_words, INT8_PER_WORD, panels, tile.width)
    panel_major = np.moveaxis(np.moveaxis(blocks, -2, -5), -2, -1)  # panels to the front, bytes to the end
    return np.ascontiguousarray(panel_major).view("<i4").reshape(*batch, panels, taps, num_words, tile.width)


def pack_int8_constant(b: Array, target: Target, name: str = "", rows: Known | None = None) -> Panels:
    """Packs a constant [..., k, columns] int8; rows: the rows of the product, if AMX may be used for it; else None."""
    # Lazy: few models need it.
    from sardonyx._src.compile.kernels.gemm.packing.panels import (
        Panels,
        choose_panel_tile,
    )

    *batch, k, columns = b.shape
    num_words = -(-k // INT8_PER_WORD)
    tile = choose_panel_tile(columns, target)
    if rows is not None:
        tile = choose_int8_tile(columns, num_words, rows, target)
    tile = replace(tile, is_signed=multiplies_signed(target))
    taps = b[..., None, :, :]
    pairs = pack_paired_panels(taps, num_words, target) if has_many_rows(rows) else None
    tile, data = pairs or (tile, pack_int8_panels(taps, tile))
    shape = (*batch, -(-columns // tile.width), num_words, data.shape[-1])
    return Panels(make_constant(data.reshape(shape), name), tile, columns)


def has_many_rows(rows: Known | None) -> bool:
    """Whether a product is known to have enough rows that multiplications take its time, not the bytes of its panels."""
    least = GemmTuning.min_paired_rows
    if rows is None or isinstance(rows, int):
        return rows is not None and rows >= least
    return exact_div(rows, least) * least == rows  # a multiple, which is 0 or at least as large


def pack_paired_panels(taps: Array, num_words: int, target: Target) -> tuple[RegisterTile, Array] | None:
    """B [..., taps, k, n] int8, in lines of `num_words` words of several taps or one, as panels of paired words, and their tile.

    The panels are [..., panels, lines, words, row].  None where the target or the weights do not allow it.
    """
    # Lazy: only processors without dot products of bytes need it.
    from sardonyx._src.compile.kernels.gemm.integer.paired_panels import (
        can_pair_words,
        pair_panel_words,
        paired_tile,
    )

    if not can_pair_words(num_words, target):
        return None
    tile = paired_tile(target)
    words = pack_int8_panels(taps, tile)
    panels = pair_panel_words(words.reshape(*words.shape[:-3], -1, num_words, tile.width))
    return None if panels is None else (tile, panels)


def pack_int32_bias(bias: Array, tile: RegisterTile) -> Array:
    """A bias [n] int32, padded with zeros to whole panels: [panels, width]."""
    result = np.zeros((-(-bias.size // tile.width), tile.width), np.int32)
    result.reshape(-1)[: bias.size] = bias
    return result
