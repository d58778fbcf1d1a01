"""Tuning of Winograd convolutions; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WinogradTuning:
    """Winograd convolutions: the cost model, in cycles of a core that does two multiply-adds of 16 lanes, and groups."""

    # Pixels are prefetched for the tile that is this many tiles to the right of the one that is transformed.
    prefetch_tiles: int = 2

    # --- Rounding (choice of the algorithm) ---

    # With fewer channels a direct convolution is used, since vectors along the channels would be too short.
    min_channels: ClassVar[int] = 8
    # A product of fewer rows costs as much as a product of this many rows, since it waits for the weights.
    min_product_rows: ClassVar[int] = 4
    # Cycles of the input and the output transform together, for a vector of a point.
    transform_cycles: ClassVar[float] = 4.2
    # Bytes of weights read from memory in a cycle.
    weight_bytes_per_cycle: ClassVar[float] = 7.0
    # Products and reads overlap: the longer of the two hides this share of the shorter.
    overlap: ClassVar[float] = 0.5
    # The cost of a direct convolution, relative to products at the peak.
    direct_overhead: ClassVar[float] = 1.05

    # --- Shared ---

    # With at most this many channels, the weights of a panel stay in the cache with everything else.
    max_fused_channels: ClassVar[int] = 160
    # The number of units (groups of tiles, or groups by panels of weights) that keeps a few threads busy.
    min_groups: ClassVar[int] = 8
    # With at most this many tiles, the number of groups may be odd.
    max_odd_group_tiles: ClassVar[int] = 12
    # The maximum number of tiles of a group in one fused step.
    fused_group_tiles: ClassVar[int] = 24
    # The maximum number of tiles of joint groups in separate steps.
    separate_group_tiles: ClassVar[int] = 64
