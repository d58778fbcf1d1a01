"""Tuning of depthwise convolutions after pointwise ones; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PointwiseDepthwiseTuning:
    """Depthwise convolutions that compute their input by a pointwise convolution, row by row in a ring buffer.

    The *intermediate image* is the result of the pointwise convolution.
    """

    # --- Shared ---

    # The maximum number of output rows that share the input of a window tile; they are fewer where a core's level-2 cache
    # does not hold the ring buffer (`CachedCount`).
    group_rows: ClassVar[int] = 4
    # The maximum size of the ring buffer, which stays in a level-2 cache of 1 MB.
    ring_bytes: ClassVar[int] = 2**19
    # The minimum number of bands of output rows, which are the units of work.
    min_bands: ClassVar[int] = 4
    # The maximum number of bands of output rows.
    max_bands: ClassVar[int] = 16
    # With more than min_bands bands, the least ratio of the rows of a band to the rows that it shares with the band
    # before.
    min_band_ratio: ClassVar[int] = 8
    # An intermediate image of at least this many bytes does not stay in the level-2 cache.
    min_image_bytes: ClassVar[int] = 2**20
    # The maximum size of the pointwise weights, which are read again for each output row.
    max_weight_bytes: ClassVar[int] = 2**18
    # With fewer channels of the intermediate image, memory does not limit the depthwise convolution.
    min_channels: ClassVar[int] = 16
    # The maximum number of channels of an intermediate image of dynamic size.
    max_dynamic_channels: ClassVar[int] = 128
    # The least ratio of the rows of the intermediate image to the rows that neighboring bands share.
    min_height_ratio: ClassVar[int] = 24
