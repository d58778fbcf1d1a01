"""Panels of words of two bfloat16: constants, rounded to bfloat16 when they are packed."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD, choose_bf16_tile, padded_words
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.tile.register_tile import (
    RegisterTile,
)
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.ir import Array

WORDS: np.dtype[np.generic] = np.dtype("<i4")


def round_to_bits(array: Array) -> Array:
    """The bits of the elements rounded to bfloat16, uint16."""
    import ml_dtypes  # lazy: few models need it

    return array.astype(ml_dtypes.bfloat16).view(np.uint16)


def make_bf16_panels(b: Array, tile: RegisterTile, row_words: int) -> LazyConstant:
    """B [..., taps, k, n] as panels of words [..., panels, row_words, width]; a panel has the rows of all taps in order.

    The terms of a tap are padded with a zero to whole words.
    """
    *batch, taps, k, n = b.shape
    num_panels, tap_words = -(-n // tile.width), -(-k // BF16_PER_WORD)

    def compute_rows(panels: Array, first: int) -> None:
        for i, panel in enumerate(panels, first):
            item, number = divmod(i, num_panels)
            columns = b[np.unravel_index(item, batch)][..., number * tile.width : (number + 1) * tile.width]
            bits = np.zeros((taps, tap_words, BF16_PER_WORD, tile.width), np.uint16)
            rounded = round_to_bits(columns)
            for part in range(BF16_PER_WORD):
                terms = rounded[:, part::BF16_PER_WORD]
                bits[:, : terms.shape[1], BF16_PER_WORD - 1 - part, : terms.shape[2]] = terms
            panel[taps * tap_words :] = 0
            words = (
                panel[: taps * tap_words].view(np.uint16).reshape(taps, tap_words, tile.width, BF16_PER_WORD)
            )
            words[...] = bits.swapaxes(2, 3)

    return LazyConstant((*batch, num_panels, row_words, tile.width), 2, b, compute_rows, WORDS)


def pack_bf16_constant(b: Array, target: Target, name: str = "") -> Panels:
    """Packs a constant [..., k, columns] of float32 or half precision into panels of words."""
    *_, k, columns = b.shape
    row_words = padded_words(k)
    tile = choose_bf16_tile(columns, row_words, target)
    return Panels(make_constant(make_bf16_panels(b[..., None, :, :], tile, row_words), name), tile, columns)
