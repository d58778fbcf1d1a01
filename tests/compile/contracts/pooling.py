"""Contracts of pooling, of images and planes, of their gradients, and of folded columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.references import add_epilogue, output_size, tap_pixels
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.pooling.fold_columns import fold_columns_step
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind
from sardonyx._src.compile.kernels.pooling.line_pooling import line_pooling_step
from sardonyx._src.compile.kernels.pooling.max_pool_gradient import max_pool_gradient_step
from sardonyx._src.compile.kernels.pooling.pixel_blocks import global_pooling_steps
from sardonyx._src.compile.kernels.pooling.plane_pooling import plane_pooling_step
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm, pooling_step
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.ir import Array

PIXELS = range(1, 30)  # of a line: tiles have up to 14
WINDOWS = (
    Window((2, 2), (2, 2)),
    Window((3, 3), (2, 2), begin_pads=(1, 1), end_pads=(1, 1)),
    Window((3, 3), begin_pads=(1, 0), end_pads=(1, 2)),
    Window((1, 7), begin_pads=(0, 3), end_pads=(0, 3)),
    Window((2, 3), (1, 2), (2, 3), (1, 3), (1, 3)),
)
CLOSE = 1e-6  # a division, or roots, of exact sums


def count_taps(x: Array, window: Window, size: tuple[int, int]) -> Array:
    """The number of taps of each window that are inside the image."""
    total = np.zeros((len(x), *size, x.shape[-1]))
    for _, pixels in tap_pixels(np.ones_like(x), window, size):
        total += pixels
    return total


def pool(x: Array, algorithm: PoolingAlgorithm, window: Window, size: tuple[int, int]) -> Array:
    """The pooling of x [N, H, W, C] by windows that each have a pixel of the image."""
    outside = -np.inf if algorithm.kind == "max" else 0.0
    taps = np.stack([pixels for _, pixels in tap_pixels(x, window, size, outside)])
    if algorithm.kind == "max":
        return np.asarray(taps.max(0))
    if algorithm.kind == "lp":
        return np.asarray((np.abs(taps) ** algorithm.p).sum(0) ** (1 / algorithm.p))
    return np.asarray(
        taps.sum(0) / (window.num_taps if algorithm.kind == "mean_with_pads" else count_taps(x, window, size))
    )


def pooling(
    trial: Trial,
    pixels: int,
    channels: int,
    algorithm: PoolingAlgorithm,
    window: Window,
    gap: Gap,
) -> Sequence[Step]:
    x, size = trial.integers(2, 3, pixels, channels), output_size((3, pixels), window, window.end_pads)
    fused, operands, y = add_epilogue(trial, "cheap", pool(x, algorithm, window, size), gap)
    result = trial.result(y, gap=gap, tolerance=0.0 if algorithm.kind == "max" else CLOSE)
    return [pooling_step(trial.input(x, gap), result, algorithm, window, fused, operands)]


def pooling_axes(target: Target) -> Axes:
    means = (PoolingAlgorithm("mean"), PoolingAlgorithm("mean_with_pads"))
    return {
        "pixels": PIXELS,
        "channels": (0, *vector_edges(target), 257),
        "algorithm": (PoolingAlgorithm("max"), *means, *(PoolingAlgorithm("lp", p) for p in (1, 2, 3))),
        "window": WINDOWS,
        "gap": (0, 3, None),
    }


def pooling_of_bytes(trial: Trial, pixels: int, channels: int, window: Window, dtype: str) -> Sequence[Step]:
    info, size = np.iinfo(dtype), output_size((3, pixels), window, window.end_pads)
    x = trial.integers(2, 3, pixels, channels, low=info.min, high=info.max, dtype=dtype)
    y = trial.result(pool(x, PoolingAlgorithm("max"), window, size), dtype, gap=3)
    return [pooling_step(trial.input(x, 3), y, PoolingAlgorithm("max"), window)]


def bytes_axes(target: Target) -> Axes:
    axes = pooling_axes(target)
    return {**{name: axes[name] for name in ("pixels", "channels", "window")}, "dtype": ("uint8", "int8")}


def global_pooling(
    trial: Trial, lines: int, pixels: int, channels: int, kind: GlobalPoolKind, gap: Gap
) -> Sequence[Step]:
    x = trial.integers(2, lines, pixels, channels)
    elements = x.reshape(2, lines * pixels, channels).astype(np.float64)
    pooled = elements.max(1) if kind == "max" else elements.mean(1)
    fused, operands, y = add_epilogue(trial, "cheap", pooled, gap)
    result = trial.result(y, gap=gap, tolerance=0.0 if kind == "max" else CLOSE)
    return global_pooling_steps(trial.input(x, gap), result, kind, fused, operands)


def global_axes(target: Target) -> Axes:
    return {
        "lines": (1, 2, 14, 16),
        "pixels": (*around(4)[1:], 14, 16, 31, 257),
        "channels": vector_edges(target),
        "kind": ("mean", "max"),
        "gap": (0, 3, None),
    }


def max_pool_gradient(trial: Trial, pixels: int, channels: int, window: Window, gap: Gap) -> Sequence[Step]:
    """The gradient of the first of the largest pixels of each window."""
    size = output_size((5, pixels), window, window.end_pads)
    x, dy = trial.integers(2, 5, pixels, channels), trial.integers(2, *size, channels)
    taps = list(tap_pixels(x, window, size, -np.inf))
    first = np.stack([values for _, values in taps]).argmax(0)
    dx = np.zeros((2, 5, pixels, channels))
    for number, ((ky, kx), _) in enumerate(taps):
        for n, i, j, c in np.argwhere(first == number):
            line = i * window.strides[0] + ky * window.dilations[0] - int(str(window.begin_pads[0]))
            pixel = j * window.strides[1] + kx * window.dilations[1] - int(str(window.begin_pads[1]))
            dx[n, line, pixel, c] += dy[n, i, j, c]
    return [
        max_pool_gradient_step(trial.input(x, gap), trial.input(dy, gap), trial.result(dx, gap=gap), window)
    ]


def gradient_axes(target: Target) -> Axes:
    return {
        "pixels": range(2, 10),
        "channels": (*vector_edges(target)[:8], 2 * target.lanes + 1, 65, 130),
        "window": (
            WINDOWS[0],
            WINDOWS[1],
            Window((3, 2), (1, 1), (2, 1), (1, 0), (1, 1)),
            Window((3, 2), (4, 3), end_pads=(2, 1)),
        ),
        "gap": (0, 3, None),
    }


def plane_pooling(
    trial: Trial, lines: int, pixels: int, window: Window, dtype: str, column_major: bool
) -> Sequence[Step]:
    """Maxima of dense planes, and the positions of the first of them."""
    x = trial.integers(3, lines, pixels, dtype=dtype)
    sizes = [
        max(0, (n + before + after - (k - 1) * d - 1) // s + 1)
        for n, k, s, d, before, after in zip(
            (lines, pixels),
            window.kernel,
            window.strides,
            window.dilations,
            window.begin_pads,
            window.end_pads,
            strict=True,
        )
    ]
    y, places = np.zeros((3, *sizes), dtype), np.zeros((3, *sizes), np.int64)
    for n, i, j in np.ndindex(*y.shape):
        elements = [
            (x[n, r, c], n * lines * pixels + (c * lines + r if column_major else r * pixels + c))
            for r in taps_inside(i, 0, lines, window)
            for c in taps_inside(j, 1, pixels, window)
        ]
        y[n, i, j] = max(value for value, _ in elements)
        places[n, i, j] = next(place for value, place in elements if value == y[n, i, j])
    results = trial.result(y, dtype), trial.result(places, np.int64)
    return [
        plane_pooling_step(
            trial.input(x), results, PoolingAlgorithm("max"), window, column_major=column_major
        )
    ]


def taps_inside(index: int, axis: int, length: int, window: Window) -> list[int]:
    """The positions of the taps of a window that are inside a plane."""
    start = index * window.strides[axis] - int(str(window.begin_pads[axis]))
    taps = [start + tap * window.dilations[axis] for tap in range(window.kernel[axis])]
    return [tap for tap in taps if 0 <= tap < length]


def plane_axes(target: Target) -> Axes:
    return {
        "lines": (2, 3, 5),
        "pixels": range(2, 2 * target.lanes + 4),
        "window": (
            Window((2, 2), (2, 2), (1, 1), (0, 0)),
            Window((3, 3), (1, 2), (1, 1), (1, 1), (1, 1)),
            Window((2, 2), (1, 1), (1, 1), (1, 0), (0, 1)),
        ),
        "dtype": ("float32", "float64", "int8", "uint8"),
        "column_major": (False, True),
    }


def line_pooling(
    trial: Trial, lines: int, pixels: int, window: Window, algorithm: PoolingAlgorithm, dtype: str
) -> Sequence[Step]:
    """Pooling of dense planes, which are images of one channel."""
    x = trial.integers(3, lines, pixels, 1, dtype=dtype)
    size = output_size((lines, pixels), window, window.end_pads)
    y = pool(x.astype(np.float64), algorithm, window, size)
    result = trial.result(y[..., 0], dtype, tolerance=0.0 if algorithm.kind == "max" else CLOSE)
    return [line_pooling_step(trial.input(x[..., 0]), result, algorithm, window)]


def line_axes(target: Target) -> Axes:
    means = (PoolingAlgorithm("mean"), PoolingAlgorithm("mean_with_pads"))
    return {
        "lines": (3, 4, 9),
        "pixels": (*range(2, 2 * target.lanes + 4), 4 * target.lanes, 8 * target.lanes + 1, 1100),
        "window": (
            *WINDOWS[:4],
            Window((2, 3), (1, 2), (2, 1), (1, 2), (1, 2)),
            Window((3, 2), (2, 3), (1, 2), (2, 2), (0, 2)),
            Window((1, 9), (1, 2), begin_pads=(0, 4), end_pads=(0, 4)),
            Window((9, 2), (1, 2), begin_pads=(8, 1), end_pads=(8, 1)),
        ),
        "algorithm": (PoolingAlgorithm("max"), *means, *(PoolingAlgorithm("lp", p) for p in (1, 2))),
        "dtype": ("float32", "float64"),
    }


def folded_columns(trial: Trial, lines: int, pixels: int, window: Window, dtype: str) -> Sequence[Step]:
    """Col2Im: the sums of the columns of an image's windows."""
    blocks = output_size((lines, pixels), window, window.end_pads)
    x = trial.integers(2, 3, *window.kernel, *blocks, low=0, dtype=dtype)
    top, left, bottom, right = (int(str(pad)) for pad in (*window.begin_pads, *window.end_pads))
    y = np.zeros((2, 3, lines + top + bottom, pixels + left + right))
    for (ky, kx), (i, j) in ((t, b) for t in np.ndindex(*window.kernel) for b in np.ndindex(*blocks)):
        line = i * window.strides[0] + ky * window.dilations[0]
        pixel = j * window.strides[1] + kx * window.dilations[1]
        y[:, :, line, pixel] += x[:, :, ky, kx, i, j]
    inside = np.ascontiguousarray(y[:, :, top : top + lines, left : left + pixels])
    return [fold_columns_step(trial.input(x), trial.result(inside, dtype), window, blocks)]


def fold_axes(target: Target) -> Axes:
    return {
        "lines": (1, 2, 5),
        "pixels": range(1, 2 * target.lanes + 2),
        "window": (
            *WINDOWS[:3],
            Window((3, 2), (2, 3), (1, 2), (2, 1), (0, 1)),
            Window((1, 3), (1, 1)),
        ),
        "dtype": ("float32", "float64", "int32", "uint8", "int64"),
    }


CONTRACTS = [
    Contract(pooling, pooling_axes),
    Contract(pooling_of_bytes, bytes_axes),
    Contract(global_pooling, global_axes),
    Contract(max_pool_gradient, gradient_axes),
    Contract(plane_pooling, plane_axes),
    Contract(line_pooling, line_axes),
    Contract(folded_columns, fold_axes),
]
