"""Tuning of direct convolutions; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ConvTuning:
    """Direct convolutions by GEMM, or with pixels in the lanes."""

    # The numbers of vectors of pixels of a tile of a convolution to few channels, descending.
    pixel_vectors: tuple[int, ...] = (4, 2, 1)

    # --- Rounding ---

    # KC, the maximum number of terms of a block that is summed from zero: with a panel of 64 columns, 256 KB of
    # weights.
    max_block_terms: ClassVar[int] = 1024
    # Convolutions of at most this many input channels have an im2row buffer.
    max_im2row_channels: ClassVar[int] = 8

    # --- Shared ---

    # The approximate number of rows (output pixels) of a unit of work.
    unit_rows: ClassVar[int] = 96
    # The approximate number of rows of a unit of work with an im2row buffer.
    band_rows: ClassVar[int] = 512
    # The maximum number of rows of a unit with windows packed for AMX tiles.
    packed_rows: ClassVar[int] = 256
    # The maximum number of bytes of these packed rows, which stay in the level-2 cache.
    packed_bytes: ClassVar[int] = 1 << 19
    # Shuffles interleave channels-first images of at most this many channels.
    max_interleaved_channels: ClassVar[int] = 4
    # The number of rows for which a vector of i64 holds the window origins.
    origin_lanes: ClassVar[int] = 8
    # Lanes hold output pixels, not output channels, of convolutions to at most this many channels, if lines are long
    # enough.
    max_pixel_lane_columns: ClassVar[int] = 4
    # The least number of pixels of an output line for which lanes hold output pixels.
    min_pixel_lane_width: ClassVar[int] = 16
