"""Contracts of convolutions to few channels: lines of output around the tiles of pixels, and windows beyond the image."""

from __future__ import annotations

from collections.abc import Sequence

from compile.contracts.contract import Axes, Contract
from compile.contracts.references import convolve, output_size
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Number
from sardonyx._src.compile.kernels.conv.pixel_lanes import pixel_lanes_step
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.program import Step, Window

WINDOWS = (
    Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)),
    Window((1, 1)),
    Window((1, 5), begin_pads=(0, 4), end_pads=(0, 4)),
    Window((3, 2), (2, 1), (1, 2), (1, 0), (1, 2)),
    Window((2, 3), (1, 1), (3, 1), (4, 9)),
    Window((9, 9), begin_pads=(4, 4), end_pads=(4, 4)),
)


def convolution_to_few_channels(
    trial: Trial,
    lines: int,
    pixels: int,
    columns: int,
    channels: int,
    window: Window,
    epilogue: str,
    gap: Gap,
) -> Sequence[Step]:
    """An output with padding on both sides; the epilogue doubles the result."""
    x = trial.integers(2, lines, pixels, channels)
    weights, bias = trial.integers(columns, channels, *window.kernel), trial.integers(columns)
    size = output_size((lines, pixels), window, window.end_pads)
    y = convolve(x, weights, window, size) + bias * ("bias" in epilogue)
    y = y * 2 if "twice" in epilogue else y
    fused = Epilogue(Apply("mul", (RESULT, Number(2.0)))) if "twice" in epilogue else None
    operand, result = trial.input(x.transpose(0, 3, 1, 2).copy(), gap), y.transpose(0, 3, 1, 2).copy()
    given = bias if "bias" in epilogue else None
    return [pixel_lanes_step(operand, weights, given, trial.result(result, gap=gap), window, fused)]


def axes(target: Target) -> Axes:
    lanes = target.lanes
    edges = {n * lanes + offset for n in (1, 2, 3, 4, 7) for offset in (-1, 0, 1, 2)}
    return {
        "lines": (1, 2, 7),
        "pixels": sorted({1, 2, 3, 5, *(n for n in edges if n > 0)}),
        "columns": (1, 2, 3, 4),
        "channels": (1, 2, 13, 200),
        "window": WINDOWS,
        "epilogue": ("", "bias", "bias twice"),
        "gap": (0, 3, None),
    }


CONTRACTS = [Contract(convolution_to_few_channels, axes)]
