"""Tuning of products with block-quantized weights; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BlockQuantizedTuning:
    """Products with block-quantized weights."""

    # --- Shared ---

    # The approximate number of terms that are dequantized at a time for many rows: 128 KB of float32, which is at
    # most half of the level-2 cache.
    k_block: ClassVar[int] = 512
    # The approximate number of rows of a unit of work; each unit dequantizes its panel.
    unit_rows: ClassVar[int] = 144
    # The distance in bytes at which packed weights are prefetched that several rows of int8 multiply, or one row if the
    # weights have 8 bits.
    prefetch_bytes: ClassVar[int] = 2048
    # The same for weights of 4 bits that one or two rows multiply, and of 8 bits that several do.  With two threads, a row
    # reads weights of 4 bits at 44 GB/s instead of 42 without prefetches; 4096 bytes ahead at 33, and into L1 at 25.
    near_prefetch_bytes: ClassVar[int] = 1024
    # The least number of weights of a matrix; the float32 panels of smaller matrices stay in the level-2 cache.
    min_weights: ClassVar[int] = 1 << 17
