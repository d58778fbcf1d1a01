"""Panels of paired words: constant int8 weights for products of bytes that are added in int16 (`pmaddubsw`), exactly.

`word_pairs.py` chooses pairs of words and flipped weights, so that no int16 sum saturates.  A pair takes three multiplications,
two of bytes and one that adds int16 sums to int32, instead of the four of bytes that are extended to int16.

A panel of W words is [W, 5/2 * width] words in memory, of which the end is unused:

    int32 [width]              255 * w of the flipped weights of each column, to be added to the sums
    int32 [2 + rows, padded]   the numbers of plain pairs and of pairs; for each row that follows, the bytes of A before its word
    words [plain, 2, width]    first word, second word
    words [pairs, 3, width]    first word, second word, mask of the flipped bytes of the second word
    words [singles, 2, width]  single word, mask of its flipped bytes
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import has_vnni
from sardonyx._src.compile.kernels.gemm.integer.word_pairs import (
    WordPairs,
    choose_pairs,
    flips_of_second,
    flips_of_single,
    has_inexact_sum,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, make_tile
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

MIN_WORDS = 6  # fewer leave no room for the numbers before the words
INT8_PER_WORD = 4
MAX_ACTIVATION = 255
FEATURES = {8: "+avx2", 16: "+avx512bw"}  # by lanes of int32


def can_pair_words(words: int, target: Target) -> bool:
    """Whether panels of `words` words may be paired: on processors with AVX2 or AVX-512, and without dot products of bytes."""
    has_pmaddubsw = FEATURES.get(target.lanes) in target.features.split(",")
    return has_pmaddubsw and not has_vnni(target) and words >= MIN_WORDS


def paired_tile(target: Target) -> RegisterTile:
    """The register tile for panels of paired words, of one vector of columns: narrow panels have more pairs."""
    return replace(make_tile(1, target), has_pairs=True)


def panel_row_words(width: int) -> int:
    """The words of a row of a panel of paired words with `width` columns."""
    return width * 5 // 2


def header_rows(words: int, width: int) -> int:
    """The vectors of `width` words before the words of the first pair."""
    return 1 + -(-(2 + 2 * words) // width)


def pair_panel_words(panels: Array) -> Array | None:
    """Panels [..., W, width] of int8x4 words as panels of paired words [..., W, 5/2 * width]; None if they cannot be exact."""
    *batch, num_words, width = panels.shape
    weights = np.ascontiguousarray(panels).view(np.int8).reshape(-1, num_words, 2 * width, 2)
    if has_inexact_sum(weights):
        return None
    size = num_words * panel_row_words(width)
    result = np.zeros((len(weights), -(-size // width), width), np.int32)
    fill_panels(result, weights, *choose_pairs(weights))
    return result.reshape(len(weights), -1)[:, :size].reshape(*batch, num_words, panel_row_words(width))


def fill_panels(rows: Array, weights: Array, plain: WordPairs, pairs: WordPairs) -> None:
    """Writes panels [panels, rows, width] of paired words; weights: [panels, W, 2 * width, 2]."""
    num_panels, num_words, _, _ = weights.shape
    header = rows.reshape(num_panels, -1)[:, rows.shape[-1] :]
    header[:, 0], header[:, 1] = (np.bincount(p.panel, minlength=num_panels) for p in (plain, pairs))
    writer = PanelWriter(
        weights, rows, header[:, 2:], header_rows(num_words, rows.shape[-1]), np.zeros(num_panels, np.intp)
    )
    row = writer.reserve(plain.panel, 2)
    writer.write(plain.panel, row, plain.first)
    writer.write(plain.panel, row + 1, plain.second)
    row = writer.reserve(pairs.panel, 3)
    first, second = (weights[pairs.panel, words] for words in (pairs.first, pairs.second))
    writer.write(pairs.panel, row, pairs.first)
    writer.write_flipped(pairs.panel, row + 1, pairs.second, flips_of_second(first, second))
    is_single = np.ones((num_panels, num_words), bool)
    for chosen in (plain, pairs):
        is_single[chosen.panel, chosen.first] = is_single[chosen.panel, chosen.second] = False
    panel, single = np.nonzero(is_single)
    writer.write_flipped(panel, writer.reserve(panel, 2), single, flips_of_single(weights[panel, single]))


@dataclass(frozen=True, slots=True)
class PanelWriter:
    """Writes words [panels, W, 2 * width, 2] to rows of panels; `panel` is in ascending order everywhere.

    offsets: the part of the header with the bytes of A before the word of each row.
    first_row: the row of the first word.
    used: the rows of each panel after the first one that words have.
    """

    weights: Array
    rows: Array
    offsets: Array
    first_row: int
    used: Array

    def reserve(self, panel: Array, count: int) -> Array:
        """The first of `count` rows for each element, in the given panels."""
        counts = np.bincount(panel, minlength=len(self.used))
        first: Array = np.cumsum(counts) - counts
        row: Array = self.used[panel] + count * (np.arange(len(panel)) - first[panel])
        np.add(self.used, count * counts, out=self.used)
        return row

    def write(self, panel: Array, row: Array, word: Array) -> None:
        self.write_words(panel, row, word, self.weights[panel, word])

    def write_flipped(self, panel: Array, row: Array, word: Array, is_flipped: Array) -> None:
        """Writes words, and in the next row the masks of their flipped bytes; adds 255 * w of these to the first row."""
        words = self.weights[panel, word]
        self.write_words(panel, row, word, np.where(is_flipped, -words, words))
        self.rows[panel, self.first_row + row + 1] = as_words(-is_flipped.astype(np.int8))
        shape = (len(words), self.rows.shape[-1], INT8_PER_WORD)
        factors = (is_flipped.reshape(shape), words.reshape(shape))
        sums = np.einsum("nci,nci->nc", *factors, dtype=np.int32)
        totals = np.cumsum(np.pad(sums, ((1, 0), (0, 0))), axis=0, dtype=np.int32)
        ends = np.searchsorted(panel, np.arange(len(self.rows) + 1))
        self.rows[:, 0] += np.diff(totals[ends], axis=0) * MAX_ACTIVATION

    def write_words(self, panel: Array, row: Array, word: Array, weights: Array) -> None:
        self.rows[panel, self.first_row + row] = as_words(weights)
        self.offsets[panel, row] = word * INT8_PER_WORD


def as_words(weights: Array) -> Array:
    """Weights [n, 2 * width, 2] int8 as words [n, width] of four."""
    count, sums, _ = weights.shape
    return np.ascontiguousarray(weights).reshape(count, sums // 2, INT8_PER_WORD).view("<i4")[..., 0]
