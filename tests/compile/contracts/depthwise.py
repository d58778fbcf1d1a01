"""Contracts of depthwise convolutions: lanes are channels, tiles are output pixels of a line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.references import (
    add_epilogue,
    differentiate_weights,
    output_size,
    tap_pixels,
)
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step, pack_depthwise_weights
from sardonyx._src.compile.kernels.depthwise.integer_depthwise import (
    integer_depthwise_step,
    pack_int8_depthwise_weights,
)
from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import pointwise_depthwise_step
from sardonyx._src.compile.kernels.depthwise.weight_gradient import depthwise_weight_gradient_step
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

WINDOWS = (
    Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)),
    Window((1, 1)),
    Window((5, 4), (2, 2), begin_pads=(2, 1), end_pads=(1, 2)),
    Window((3, 3), (1, 2), (2, 3), (2, 0), (1, 3)),
    Window((1, 9), begin_pads=(0, 4), end_pads=(0, 4)),
    Window((3, 3), begin_pads=(4, 5), end_pads=(4, 5)),
)
PIXELS = range(30)  # of a line: tiles have up to 14


def convolve_channels(x: Array, weights: Array, window: Window, size: tuple[int, int]) -> Array:
    """The convolution of each channel of x [N, H, W, C] by weights [C, 1, height, width]."""
    y = np.zeros((len(x), *size, x.shape[-1]))
    for (ky, kx), pixels in tap_pixels(x, window, size):
        y += pixels * weights[:, 0, ky, kx].astype(np.float64)
    return y


def depthwise(trial: Trial, pixels: int, channels: int, window: Window, gap: Gap) -> Sequence[Step]:
    x, size = trial.integers(2, 3, pixels, channels), output_size((3, pixels), window, window.end_pads)
    weights, bias = trial.integers(channels, 1, *window.kernel), trial.integers(channels)
    fused, operands, y = add_epilogue(trial, "cheap", convolve_channels(x, weights, window, size) + bias, gap)
    packed = trial.input(pack_depthwise_weights(weights))
    result = trial.result(y, gap=gap)
    return [depthwise_step(trial.input(x, gap), packed, result, trial.input(bias), window, fused, operands)]


def depthwise_axes(target: Target) -> Axes:
    return {
        "pixels": PIXELS,
        "channels": (0, *vector_edges(target), 257),
        "window": WINDOWS,
        "gap": (0, 3, None),
    }


def depthwise_weight_gradient(
    trial: Trial, pixels: int, channels: int, window: Window, gap: Gap
) -> Sequence[Step]:
    size = output_size((3, pixels), window, window.begin_pads)
    x, dy = trial.integers(2, 3, pixels, channels), trial.integers(2, *size, channels)
    dw = trial.result(differentiate_weights(x, dy, window, channels))
    return [depthwise_weight_gradient_step(trial.input(x, gap), trial.input(dy, gap), dw, window)]


def gradient_axes(target: Target) -> Axes:
    windows = (
        Window((3, 3), begin_pads=(1, 1)),
        Window((5, 3), (2, 2), begin_pads=(2, 1)),
        Window((3, 2), (2, 3), (2, 1), (0, 1)),
        Window((1, 1)),
        Window((2, 5), begin_pads=(9, 9)),
    )
    return {
        "pixels": PIXELS,
        "channels": (*vector_edges(target), 257),
        "window": windows,
        "gap": (0, 3, None),
    }


def integer_depthwise(
    trial: Trial, pixels: int, channels: int, window: Window, dtype: str, zero: int
) -> Sequence[Step]:
    info, point = np.iinfo(dtype), zero if dtype == "uint8" else -zero // 2
    x = trial.integers(2, 3, pixels, channels, low=info.min, high=info.max, dtype=dtype)
    weights = trial.integers(channels, 1, *window.kernel, low=-128, high=127, dtype=np.int8)
    size = output_size((3, pixels), window, window.end_pads)
    start = trial.integers(channels, dtype=np.int32)
    y = trial.result(convolve_channels(x.astype(np.int64) - point, weights, window, size) + start, np.int32)
    constants = trial.input(pack_int8_depthwise_weights(weights, trial.target)), trial.input(start)
    tensor = trial.input(np.array([point], dtype)) if zero else None
    return [integer_depthwise_step(trial.input(x, 3), tensor, *constants, y, window, IntegerEpilogue())]


def integer_axes(target: Target) -> Axes:
    axes = depthwise_axes(target)
    return {
        **{name: axes[name] for name in ("pixels", "channels", "window")},
        "dtype": ("uint8", "int8"),
        "zero": (0, 131),
    }


def quantized_depthwise(
    trial: Trial, pixels: int, channels: int, window: Window, zero: int, is_bounded: bool
) -> Sequence[Step]:
    """saturate(round(sums * scale) + zero point) as bytes."""
    x = trial.integers(2, 3, pixels, channels, low=0, high=255, dtype=np.uint8)
    weights = trial.integers(channels, 1, *window.kernel, low=-128, high=127, dtype=np.int8)
    size = output_size((3, pixels), window, window.end_pads)
    start = trial.integers(channels, dtype=np.int32)
    scale = (2.0 ** -trial.rng.integers(5, 9, channels)).astype(np.float32)
    exact = (convolve_channels(x.astype(np.int64), weights, window, size) + start) * scale.astype(np.float64)
    y = trial.result(np.clip(np.rint(exact) + zero, 0, 255), np.uint8)
    rounded = Apply("round", (Apply("mul", (Cast(DataType.FLOAT, RESULT), Local("o0"))),))
    shifted = Apply("add", (rounded, Cast(DataType.FLOAT, Local("o1")))) if zero else rounded
    result = Cast(DataType.UINT8, Apply("clamp", (shifted, Number(0), Number(255))))
    types = (DataType.FLOAT, DataType.UINT8)
    epilogue = IntegerEpilogue(result, ("column", "scalar"), types, DataType.UINT8, (), is_bounded)
    operands = trial.input(scale), trial.input(np.array([zero], np.uint8))
    constants = trial.input(pack_int8_depthwise_weights(weights, trial.target)), trial.input(start)
    return [integer_depthwise_step(trial.input(x, 3), None, *constants, y, window, epilogue, operands)]


def quantized_axes(target: Target) -> Axes:
    axes = depthwise_axes(target)
    return {
        **{name: axes[name] for name in ("pixels", "channels", "window")},
        "zero": (0, 7),
        "is_bounded": (True, False),
    }


def pointwise_depthwise(
    trial: Trial, pixels: int, lines: int, channels: int, inputs: int, window: Window
) -> Sequence[Step]:
    """A pointwise convolution with an activation, and the depthwise one that reads it from a ring buffer."""
    x, matrix = trial.integers(2, lines, pixels, inputs), trial.integers(channels, inputs, 1, 1)
    weights, bias = trial.integers(channels, 1, *window.kernel), trial.integers(channels)
    between = np.maximum(x.astype(np.float64) @ matrix[:, :, 0, 0].T + bias, 0)
    size = output_size((lines, pixels), window, window.end_pads)
    y = trial.result(convolve_channels(between, weights, window, size) + bias, gap=2)
    pointwise = pack_conv_weights(matrix, bias, Window(), trial.target)
    activation = Epilogue(Apply("max", (RESULT, Number(0.0))))
    constants = trial.input(pack_depthwise_weights(weights)), trial.input(bias)
    step = pointwise_depthwise_step(
        trial.input(x, 2), pointwise, activation, *constants, y, window, Epilogue()
    )
    return [step]


def pointwise_axes(target: Target) -> Axes:
    lanes = target.lanes
    windows = (
        Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)),
        Window((3, 3), (2, 2), end_pads=(1, 1)),
        Window((3, 3), (1, 2), (2, 3), (4, 0), (0, 7)),
        Window((5, 1), (5, 1)),
        Window((3, 3), (1, 1), (3, 1), (0, 0), (8, 0)),
    )
    return {
        "pixels": PIXELS[1:16],
        "lines": (1, 2, 5, 6, 7, 13, 41),
        "channels": (3, lanes, lanes + 1, 4 * lanes, 4 * lanes + 1, 8 * lanes + 3),
        "inputs": (1, 3, 9),
        "window": windows,
    }


CONTRACTS = [
    Contract(depthwise, depthwise_axes),
    Contract(depthwise_weight_gradient, gradient_axes),
    Contract(integer_depthwise, integer_axes),
    Contract(quantized_depthwise, quantized_axes),
    Contract(pointwise_depthwise, pointwise_axes),
]
