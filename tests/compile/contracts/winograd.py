"""Contracts of Winograd convolutions: tiles of output pixels, groups of tiles, and panels of output channels."""

from __future__ import annotations

from collections.abc import Sequence

from compile.contracts.contract import Axes, Contract
from compile.contracts.references import add_epilogue, convolve, output_size
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.winograd.convolution import TileGrouping, winograd_steps
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3
from sardonyx._src.compile.kernels.winograd.weight_transform import pack_winograd_weights
from sardonyx._src.compile.program import Step, Window

CLOSE = 1e-5  # some tens of roundings, which the output transform amplifies


def winograd(
    trial: Trial,
    lines: int,
    pixels: int,
    channels: int,
    features: int,
    pad: int,
    transforms: TileTransforms,
    grouping: TileGrouping | None,
    gap: Gap,
) -> Sequence[Step]:
    window = Window((3, 3), begin_pads=(pad, pad))
    x, weights = trial.integers(2, lines, pixels, channels), trial.integers(features, channels, 3, 3)
    size, bias = output_size((lines, pixels), window, window.begin_pads), trial.integers(features)
    fused, operands, y = add_epilogue(trial, "cheap", convolve(x, weights, window, size) + bias, gap)
    packed = pack_winograd_weights(weights, bias, transforms, trial.target)
    result = trial.result(y, gap=gap, tolerance=CLOSE)
    return winograd_steps(trial.input(x, gap), packed, result, window.begin_pads, fused, operands, grouping)


def winograd_axes(target: Target) -> Axes:
    lanes = target.lanes
    groupings = [TileGrouping(tiles, is_fused) for tiles in (1, 4, 7, 24) for is_fused in (True, False)]
    return {
        "lines": (*range(1, 10), 17),
        "pixels": (*range(11), 31),
        "channels": (*range(1, lanes + 2), 2 * lanes + 1),
        "features": (3, lanes, lanes + 1, 4 * lanes, 4 * lanes + 1, 8 * lanes + 3),
        "pad": (0, 1, 2),
        "transforms": [TileTransforms(v, h) for v in (F2X3, F4X3) for h in (F2X3, F4X3)],
        "grouping": (None, *groupings),
        "gap": (0, 3, None),
    }


CONTRACTS = [Contract(winograd, winograd_axes)]
