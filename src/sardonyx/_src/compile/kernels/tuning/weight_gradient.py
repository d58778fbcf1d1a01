"""Tuning of gradients of convolutions by their weights; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WeightGradientTuning:
    """Gradients of convolutions by their weights."""

    # --- Rounding ---

    # The approximate number of output pixels of a block that is summed from zero: with a panel of 64 columns, 32 KB
    # of dy.
    block_pixels: ClassVar[int] = 128

    # --- Shared ---

    # The least number of pairs of a tile and a tap of a unit of work; they read a block of dy one after the other.
    min_unit_taps: ClassVar[int] = 10
