"""Contracts of convolutions: rows are output pixels, columns output channels, and k the channels of the taps of a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import (
    EPILOGUES,
    EpilogueKind,
    add_epilogue,
    convolve,
    output_size,
)
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.bf16_convolution import bf16_convolution_step, pack_bf16_weights
from sardonyx._src.compile.kernels.conv.computed_weights import pack_computed_weights
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights, packs_lines
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import BF16_PER_WORD
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import make_padded_temporary, view_as_int8x4
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

WINDOWS = (
    Window(),
    Window((3, 3), begin_pads=(1, 1)),
    Window((1, 1), (2, 2)),
    Window((3, 2), (2, 1), (1, 2), (1, 0)),
    Window((1, 5), begin_pads=(0, 4)),
    Window((2, 3), (1, 2), (3, 1), (1, 0)),
)
PIXELS = (
    *range(24),
    47,
    97,
)  # of a line: tiles have up to ten rows, lines of 16 pixels are computed by vectors


def image_of(
    trial: Trial, window: Window, pixels: int, channels: int, lines: int = 2
) -> tuple[Array, tuple[int, int]]:
    """Two images, and the height and width of the output with equal pads on both sides."""
    x = trial.integers(2, lines, pixels, channels)
    return x, output_size((lines, pixels), window, window.begin_pads)


def convolution(
    trial: Trial,
    lines: int,
    pixels: int,
    columns: int,
    channels: int,
    window: Window,
    groups: int,
    gap: Gap,
) -> Sequence[Step]:
    """Pointwise, by an indirection buffer, and by an im2row buffer of channels-last images."""
    x, size = image_of(trial, window, pixels, channels * groups, lines)
    weights, bias = (
        trial.integers(columns * groups, channels, *window.kernel),
        trial.integers(columns * groups),
    )
    y = trial.result(convolve(x, weights, window, size, groups) + bias, gap=gap)
    packed = pack_conv_weights(weights, bias, window, trial.target, groups)
    return [convolution_step(trial.input(x, gap), packed, y)]


def convolution_axes(target: Target) -> Axes:
    return {
        "lines": (1, 2, 7),
        "pixels": PIXELS,
        "columns": vector_edges(target),
        "channels": (*around(8), target.lanes, 1025),
        "window": WINDOWS,
        "groups": (1, 2),
        "gap": (0, 3, None),
    }


def convolution_with_epilogue(
    trial: Trial,
    pixels: int,
    columns: int,
    channels: int,
    window: Window,
    epilogue: EpilogueKind,
    gap: Gap,
) -> Sequence[Step]:
    x, size = image_of(trial, window, pixels, channels)
    weights = trial.integers(columns, channels, *window.kernel)
    fused, operands, y = add_epilogue(trial, epilogue, convolve(x, weights, window, size), gap)
    packed = pack_conv_weights(weights, None, window, trial.target)
    return [convolution_step(trial.input(x), packed, trial.result(y, gap=gap), fused, operands)]


def epilogue_axes(target: Target) -> Axes:
    lanes = target.lanes
    return {
        "pixels": PIXELS,
        "columns": (1, lanes - 1 or 1, 3 * lanes, 4 * lanes, 4 * lanes + 1),
        "channels": (1, 9),
        "window": WINDOWS[:2],
        "epilogue": EPILOGUES[1:],
        "gap": (0, 3, None),
    }


def channels_first_convolution(
    trial: Trial, lines: int, pixels: int, columns: int, channels: int, window: Window
) -> Sequence[Step]:
    """By an im2row buffer of images whose channels are planes."""
    x, size = image_of(trial, window, pixels, channels, lines)
    weights, bias = trial.integers(columns, channels, *window.kernel), trial.integers(columns)
    y = trial.result(convolve(x, weights, window, size) + bias)
    image = trial.input(np.ascontiguousarray(x.transpose(0, 3, 1, 2))).permute((0, 2, 3, 1))
    return [convolution_step(image, pack_conv_weights(weights, bias, window, trial.target), y)]


def channels_first_axes(target: Target) -> Axes:
    windows = (WINDOWS[1], Window((3, 3), (2, 2), begin_pads=(1, 1)), WINDOWS[5])
    return {
        "lines": (1, 2, 7),
        "pixels": (*PIXELS, 2 * target.lanes + 1),
        "columns": (1, target.lanes, 2 * target.lanes + 1),
        "channels": range(1, 9),
        "window": windows,
    }


def narrow_convolution(
    trial: Trial, pixels: int, vectors: int, channels: int, window: Window, is_computed: bool
) -> Sequence[Step] | None:
    """Groups of few channels, several of which share a vector."""
    groups, rest = divmod(vectors * trial.target.lanes, channels)
    if rest or groups < 2:
        return None
    x, size = image_of(trial, window, pixels, channels * groups)
    weights, bias = (
        trial.integers(channels * groups, channels, *window.kernel),
        trial.integers(channels * groups),
    )
    y = trial.result(convolve(x, weights, window, size, groups) + bias)
    if is_computed:
        packed, steps = pack_computed_weights(
            trial.input(weights), trial.input(bias), window, trial.target, groups
        )
        return [*steps, convolution_step(trial.input(x), packed, y)]
    packed = pack_conv_weights(weights, bias, window, trial.target, groups)
    return [convolution_step(trial.input(x), packed, y)]


def narrow_axes(target: Target) -> Axes:
    return {
        "pixels": PIXELS,
        "vectors": (1, 2, 3),
        "channels": (2, 4, 8),
        "window": WINDOWS,
        "is_computed": (False, True),
    }


# --- integers and bfloat16 ---------------------------------------------------------------------


def integer_convolution(
    trial: Trial, pixels: int, columns: int, channels: int, window: Window, dtype: str, groups: int
) -> Sequence[Step] | None:
    """Padding is the zero point; rows of bytes are padded to words."""
    if groups > 1 and channels % 4:
        return None
    info, zero = np.iinfo(dtype), 131 if dtype == "uint8" else -7
    _, size = image_of(trial, window, pixels, 1)
    x = trial.integers(2, 2, pixels, channels * groups, low=info.min, high=info.max, dtype=dtype)
    weights = trial.integers(columns * groups, channels, *window.kernel, low=-128, high=127, dtype=np.int8)
    start = -(zero + 128 * (dtype == "int8")) * weights.sum((1, 2, 3), dtype=np.int64)
    packed = pack_integer_weights(weights, start.astype(np.int32), window, trial.target, groups)
    y = trial.result(convolve(x.astype(np.int64) - zero, weights, window, size, groups), np.int32)
    words = view_as_int8x4(trial.fill(make_padded_temporary(DataType.of(x.dtype), x.shape, "x"), x))
    assert words is not None, "pixels must be padded to words"
    point = make_constant(np.array(zero, dtype))
    step = integer_convolution_step(words, point, packed, y, IntegerEpilogue(), a_is_signed=dtype == "int8")
    return [step]


def integer_axes(target: Target) -> Axes:
    return {
        "pixels": PIXELS,
        "columns": vector_edges(target),
        "channels": (*around(4)[1:], 16, 33, 600),
        "window": WINDOWS,
        "dtype": ("uint8", "int8"),
        "groups": (1, 2),
    }


def bf16_convolution(
    trial: Trial, pixels: int, columns: int, channels: int, window: Window, gap: Gap
) -> Sequence[Step] | None:
    """Windows are packed in rows of words."""
    if gap and packs_lines(channels, window, BF16_PER_WORD):
        return None
    x, size = image_of(trial, window, pixels, channels)
    weights, bias = trial.integers(columns, channels, *window.kernel), trial.integers(columns)
    y = trial.result(convolve(x, weights, window, size) + bias)
    packed = pack_bf16_weights(weights, bias, window, trial.target)
    return [bf16_convolution_step(trial.input(x, gap), packed, y)]


def bf16_axes(target: Target) -> Axes:
    return {
        "pixels": PIXELS,
        "columns": vector_edges(target),
        "channels": (*around(4)[1:], 31, 32, 33, 64),
        "window": WINDOWS,
        "gap": (0, 4, None),
    }


CONTRACTS = [
    Contract(convolution, convolution_axes),
    Contract(convolution_with_epilogue, epilogue_axes),
    Contract(channels_first_convolution, channels_first_axes),
    Contract(narrow_convolution, narrow_axes),
    Contract(integer_convolution, integer_axes),
    Contract(bf16_convolution, bf16_axes, has_bf16_products),
]
