"""Tuning of kernels over channels-last images; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ChannelsLastTuning:
    """Kernels over channels-last images: sliding windows (depthwise convolution, pooling), pixel reductions, LRN."""

    # An image of at least this many floats is assumed to be in memory, not in a cache.
    prefetch_min_floats: int = 2**21

    # --- Rounding ---

    # The number of pixels that are reduced together before the result is combined with the total.
    summation_block: ClassVar[int] = 512
    # Pixels of an iteration of a pixel reduction, each with its own accumulator; the code combines four.
    pixel_unroll: ClassVar[int] = 4
    # If an image has at least this many floats, global pooling first reduces blocks of its pixels.
    min_divided_floats: ClassVar[int] = 2**15
    # Into how many such blocks an image is divided; the first number that fits is used.
    pixel_blocks: ClassVar[tuple[int, ...]] = (8, 6, 4)

    # --- Shared ---

    # Widths of window tiles in pixels, by preference: the widths of most images are multiples of 7.
    tile_pixels: ClassVar[tuple[int, ...]] = (7, 8, 6, 5, 4)
    # The tile width for images of symbolic width, which more often are multiples of 8.
    dynamic_tile_pixels: ClassVar[int] = 8
    # The taps of a kernel row are unrolled up to this number.
    max_unrolled_taps: ClassVar[int] = 7
    # Bytes of the input rows under one output row that stay in the level-2 cache.
    cache_budget_bytes: ClassVar[int] = 2**18
    # If the cache limits the channels of a unit, their number is a multiple of this one.
    channel_step: ClassVar[int] = 64
    # With fewer output rows than this, units have only as many channels as the next value.
    few_rows: ClassVar[int] = 32
    # Channels of a unit if there are few output rows.
    few_rows_channels: ClassVar[int] = 256
    # Channels of a unit of a pixel reduction: one cache line of floats.
    reduced_channels: ClassVar[int] = 16
    # For images with fewer pixels, a unit of a pixel reduction has as many channels as the next value.
    small_image_pixels: ClassVar[int] = 1024
    # Channels of a unit of a pixel reduction for small images.
    small_image_channels: ClassVar[int] = 64
    # Channels of a unit of the gradients of windows; a multiple of the lanes of every target.
    gradient_channels: ClassVar[int] = 64
    # Vectors of channels with independent sums, which hide the latency of a multiply-add.
    gradient_vectors: ClassVar[int] = 4
    # Pixels of a unit of LRN: so few that the second pass finds the input and the squares in the cache.
    lrn_unit_pixels: ClassVar[int] = 8
    # The power and the division of an element of LRN count as this many operations.
    lrn_pow_flops: ClassVar[int] = 40
