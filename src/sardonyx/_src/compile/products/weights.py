"""Constant operands of a convolution: its window, and weights in panels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.packing import constant, packed_bias, panels_of
from sardonyx._src.compile.products.tiles import Tile, tile_for
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.tensors import Array

FEW = 8  # channels, at most, of which a line of a window is one run of terms


@dataclass(frozen=True, slots=True)
class Window:
    """Places of a window's taps: (height, width), but pads (top, left)."""

    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int] = (0, 0)

    @property
    def is_pixel(self) -> bool:
        """Whether windows are single pixels side by side."""
        return self.kernel == (1, 1) and self.strides == (1, 1) and self.pads == (0, 0)


@dataclass(frozen=True, slots=True)
class Weights:
    """What `packed_weights` makes of a convolution's constants.

    panels: [groups, panels, taps, channels, width]; of a band, taps are lines of the window and channels are terms of a
    line, (pixel, channel).  bias: [groups, panels, width].  columns: of one group's result.
    narrow: channels of a group, if several groups share a vector (`narrow.Narrow`), which counts as one group then.
    """

    window: Window
    tile: Tile
    panels: Tensor
    bias: Tensor
    columns: int
    is_band: bool
    narrow: int = 0


def packed_weights(
    weights: Array,
    bias: Array | None,
    window: Window,
    target: Target,
    groups: int = 1,
    *,
    windows_only: bool = False,
) -> Weights:
    """Weights [columns, channels / groups, height, width] and bias [columns] of a convolution, in panels.

    windows_only: for kernels whose rows are those of `windows.Windows`.
    """
    total, channels, height, width = weights.shape
    narrow = 0 if windows_only or not shares_vectors(weights, groups, target.lanes) else channels
    if narrow:
        groups = total // target.lanes
    columns = total // groups
    tile = tile_for(columns, target.lanes, target.registers)
    first = (np.zeros(total, np.float32) if bias is None else bias).reshape(groups, columns)
    is_band = not windows_only and not narrow and takes_band(channels, window, groups)
    taps = weights.reshape(groups, columns, channels, height, width).transpose(0, 3, 4, 2, 1)
    shape = (height, width * channels) if is_band else (height * width, channels)
    panels = panels_of(taps.reshape(groups, *shape, columns), tile)
    biases = np.stack([packed_bias(one, tile) for one in first])
    return Weights(
        window, tile, constant(panels, "weights"), constant(biases, "bias"), columns, is_band, narrow
    )


def shares_vectors(weights: Array, groups: int, lanes: int) -> bool:
    """Whether groups of channels are so narrow that several of them make a vector, of the input and of the result."""
    total, channels = len(weights), int(weights.shape[1])
    fits = lanes % max(channels, 1) == 0 and total % lanes == 0
    return fits and 1 < channels < lanes and total == groups * channels


def takes_band(channels: int, window: Window, groups: int) -> bool:
    """Whether the input is copied in bands: few channels, of several pixels side by side."""
    return groups == 1 and channels <= FEW and window.kernel[1] > 1 and window.dilations[1] == 1
