"""Tuning of Resize; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ResizeTuning:
    """Resize."""

    # --- Shared ---

    # The maximum number of taps of an output pixel, which are unrolled: 4 x 4 for cubic interpolation.
    max_pixel_taps: ClassVar[int] = 16
    # The maximum number of taps of an element along one axis that are unrolled.
    max_axis_taps: ClassVar[int] = 8
    # Images with at most this many channels are resampled along one axis after the other.
    max_axis_channels: ClassVar[int] = 4
    # Elements of a unit of the kernel that computes tables of taps.
    table_unit_elements: ClassVar[int] = 256
