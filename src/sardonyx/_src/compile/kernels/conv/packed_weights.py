"""Packed constant operands of a convolution: weights and bias in panels, and the geometry of its window.

Weights [columns, channels / groups, height, width] become panels [groups, panels, taps, channels, NR], with a tap for each
position of the window.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, make_lazy_panels, pack_bias
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile, choose_tile
from sardonyx._src.compile.kernels.tuning import ConvTuning
from sardonyx._src.compile.program import TensorView, Window
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """The packed constants of a convolution, and the way its input is addressed.

    panels: [groups, panels, taps, channels, width]; with `uses_im2row`, taps are the lines of the window, and channels
        are the terms (pixel, channel) of a line.
    bias: [groups, panels, width].
    columns: output channels of a group.
    uses_im2row: whether the input is read through an im2row buffer (`im2row.py`).
    narrow_channels: channels per group if several groups share a vector (`narrow_groups.py`), which then counts as one
        group; 0 otherwise.
    packs_rows: whether the windows of x are packed in rows (`packed_rows.py`); panels then have one tap.
    """

    window: Window
    tile: RegisterTile
    panels: TensorView
    bias: TensorView
    columns: int
    uses_im2row: bool
    narrow_channels: int = 0
    packs_rows: bool = False


def pack_conv_weights(
    weights: Array,
    bias: Array | None,
    window: Window,
    target: Target,
    groups: int = 1,
    *,
    indirect_only: bool = False,
) -> ConvWeights:
    """Packs weights [columns, channels / groups, height, width] and bias [columns] of a convolution.

    indirect_only: whether the kernel always addresses its input by an indirection buffer, so that other layouts are excluded.
    """
    total, channels, height, width = weights.shape
    shares_vectors = not indirect_only and can_share_vectors(total, channels, groups, target.lanes)
    narrow_channels = channels if shares_vectors else 0
    if narrow_channels:
        groups = total // target.lanes
    columns = total // groups
    tile = choose_tile(columns, target)
    group_biases = (np.zeros(total, np.float32) if bias is None else bias).reshape(groups, columns)
    uses_im2row = not indirect_only and not narrow_channels and can_use_im2row(channels, window, groups)
    taps = weights.reshape(groups, columns, channels, height, width).transpose(0, 3, 4, 2, 1)
    shape = (height, width * channels) if uses_im2row else (height * width, channels)
    panels = make_lazy_panels(taps.reshape(groups, *shape, columns), tile)
    biases = np.stack([pack_bias(group_bias, tile) for group_bias in group_biases])
    return ConvWeights(
        window,
        tile,
        make_constant(panels, "weights"),
        make_constant(biases, "bias"),
        columns,
        uses_im2row,
        narrow_channels,
    )


def packs_lines(channels: int, window: Window, word_terms: int) -> bool:
    """Whether rows of words are packed line by line of a window: packing pixel by pixel would leave words partly empty.

    The pixels of a line of x must then be contiguous.
    """
    return channels % word_terms != 0 and window.kernel[1] > 1 and window.dilations[1] == 1


def can_share_vectors(total: int, channels: int, groups: int, lanes: int) -> bool:
    """Whether each vector of `lanes` channels holds several whole groups.

    total: all output channels; channels: the input channels of a group, which must also be its output channels.
    """
    fits = lanes % max(channels, 1) == 0 and total % lanes == 0
    return fits and 1 < channels < lanes and total == groups * channels


def can_use_im2row(channels: int, window: Window, groups: int) -> bool:
    """Whether an im2row buffer pays off: with few channels, it joins the short taps of a line of a window into one."""
    return (
        groups == 1
        and channels <= ConvTuning.max_im2row_channels
        and window.kernel[1] > 1
        and window.dilations[1] == 1
    )
