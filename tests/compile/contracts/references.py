"""What products over windows are, tap by tap in float64, and epilogues of exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Scalar
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.program import TensorView, Window
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known

Pair: TypeAlias = tuple[int, int]
EpilogueKind = Literal["", "cheap", "long"]
EPILOGUES: tuple[EpilogueKind, ...] = ("", "cheap", "long")
LONG = 9  # operations more than an epilogue that is emitted for each vector may have


def output_size(image: Pair, window: Window, end_pads: Sequence[Known]) -> Pair:
    """Height and width of the output of a window; 0 where it does not fit."""
    spans = [(k - 1) * d + 1 for k, d in zip(window.kernel, window.dilations, strict=True)]
    pads = [int(str(begin)) + int(str(end)) for begin, end in zip(window.begin_pads, end_pads, strict=True)]
    height, width = (
        max(0, (n + pad - span) // stride + 1)
        for n, pad, span, stride in zip(image, pads, spans, window.strides, strict=True)
    )
    return height, width


def tap_pixels(x: Array, window: Window, size: Pair, outside: float = 0.0) -> Iterator[tuple[Pair, Array]]:
    """For each tap of a window, the pixels [N, Ho, Wo, C] in float64 that it reads of x [N, H, W, C]."""
    begins = [int(str(pad)) for pad in window.begin_pads]
    reach = [
        n * s + k * d
        for n, s, k, d in zip(size, window.strides, window.kernel, window.dilations, strict=True)
    ]
    pads = [(begin, max(0, end)) for begin, end in zip(begins, reach, strict=True)]
    padded = np.pad(x.astype(np.float64), ((0, 0), *pads, (0, 0)), constant_values=outside)
    for ky, kx in np.ndindex(*window.kernel):
        top, left = ky * window.dilations[0], kx * window.dilations[1]
        lines = slice(top, top + size[0] * window.strides[0], window.strides[0])
        pixels = slice(left, left + size[1] * window.strides[1], window.strides[1])
        yield (ky, kx), padded[:, lines, pixels]


def convolve(x: Array, weights: Array, window: Window, size: Pair, groups: int = 1) -> Array:
    """The convolution of x [N, H, W, C] by weights [columns, C / groups, height, width]."""
    y = np.zeros((len(x), *size, groups, len(weights) // groups))
    by_group = weights.astype(np.float64).reshape(groups, len(weights) // groups, *weights.shape[1:])
    for (ky, kx), pixels in tap_pixels(x, window, size):
        grouped = pixels.reshape(*pixels.shape[:3], groups, weights.shape[1])
        y += np.einsum("nhwgc,gmc->nhwgm", grouped, by_group[..., ky, kx])
    return y.reshape(*y.shape[:3], len(weights))


def differentiate_weights(x: Array, dy: Array, window: Window, groups: int = 1) -> Array:
    """The gradient by the weights [M, C / groups, height, width], of x [N, H, W, C] and dy [N, Ho, Wo, M]."""
    _, height, width, columns = dy.shape
    share, channels = columns // groups, x.shape[-1] // groups
    dw = np.zeros((groups, share, channels, *window.kernel))
    gradient = dy.astype(np.float64).reshape(*dy.shape[:3], groups, share)
    for (ky, kx), pixels in tap_pixels(x, window, (height, width)):
        grouped = pixels.reshape(*pixels.shape[:3], groups, channels)
        dw[..., ky, kx] = np.einsum("nhwgc,nhwgm->gmc", grouped, gradient)
    return dw.reshape(columns, channels, *window.kernel)


def transposed_convolve(x: Array, weights: Array, window: Window, size: Pair, groups: int = 1) -> Array:
    """The transposed convolution of x [N, H, W, C] by weights [C, columns / groups, height, width]."""
    images, height, width, channels = x.shape
    (sy, sx), (dy, dx), (top, left) = (
        window.strides,
        window.dilations,
        (int(str(p)) for p in window.begin_pads),
    )
    full = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip((height, width), (sy, sx), window.kernel, (dy, dx), strict=True)
    ]
    whole = np.zeros(
        (images, max(full[0], top + size[0], 0), max(full[1], left + size[1], 0), groups, weights.shape[1])
    )
    grouped = x.astype(np.float64).reshape(*x.shape[:3], groups, channels // groups)
    by_group = weights.astype(np.float64).reshape(groups, channels // groups, *weights.shape[1:])
    for ky, kx in np.ndindex(*window.kernel):
        lines, pixels = slice(ky * dy, ky * dy + height * sy, sy), slice(kx * dx, kx * dx + width * sx, sx)
        target = whole[:, lines, pixels][:, :height, :width]
        target += np.einsum("nhwgc,gcm->nhwgm", grouped, by_group[..., ky, kx])
    y = whole[:, top : top + size[0], left : left + size[1]]
    return y.reshape(images, *size, groups * weights.shape[1])


def add_epilogue(
    trial: Trial, kind: EpilogueKind, y: Array, gap: Gap = 0
) -> tuple[Epilogue, tuple[TensorView, ...], Array]:
    """An epilogue of y [..., columns], its operands, and what it makes of y: max(y * scalar + column + matrix, -50)."""
    if not kind:
        return Epilogue(), (), y
    scalar, column, matrix = trial.integers(1), trial.integers(y.shape[-1]), trial.integers(*y.shape)
    value: Scalar = Apply("mul", (RESULT, Local("o0")))
    for name in ("o1", "o2"):
        value = Apply("add", (value, Local(name)))
    for limit in range(LONG if kind == "long" else 0):
        value = Apply("max", (value, Number(-1e30 - limit * 1e29)))
    epilogue = Epilogue(Apply("max", (value, Number(-50.0))), ("scalar", "column", "matrix"))
    operands = (trial.input(scalar), trial.input(column), trial.input(matrix, gap))
    return epilogue, operands, np.maximum(y * scalar + column + matrix, -50)
