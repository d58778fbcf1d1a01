"""Contracts of gradients of convolutions by weights, transposed convolutions, and weights that steps pack."""

from __future__ import annotations

from collections.abc import Sequence

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.conv import WINDOWS, image_of
from compile.contracts.references import (
    convolve,
    differentiate_weights,
    transposed_convolve,
)
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.computed_weights import pack_computed_weights
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.transposed import (
    pack_computed_transposed_weights,
    pack_transposed_weights,
    transposed_convolution_steps,
)
from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.program import Step, Window


def weight_gradient(
    trial: Trial, channels: int, columns: int, window: Window, groups: int, pixels: int, gap: Gap
) -> Sequence[Step]:
    x, size = image_of(trial, window, pixels, channels * groups)
    dy = trial.integers(2, *size, columns * groups)
    dw = trial.result(differentiate_weights(x, dy, window, groups))
    return weight_gradient_steps(trial.input(x, gap), trial.input(dy, gap), dw, window, trial.target, groups)


def weight_gradient_axes(target: Target) -> Axes:
    return {
        "channels": [*around(10)[1:], 27, 28, 36, 45, 54, 63, 79, 80, 81, 98, 161],
        "columns": vector_edges(target),
        "window": WINDOWS,
        "groups": (1, 3),
        "pixels": (0, 1, 5, 20, 43, 129),
        "gap": (0, 3, None),
    }


def computed_convolution(
    trial: Trial, pixels: int, columns: int, channels: int, window: Window, groups: int
) -> Sequence[Step]:
    """Weights and bias that steps pack."""
    x, size = image_of(trial, window, pixels, channels * groups)
    weights, bias = (
        trial.integers(columns * groups, channels, *window.kernel),
        trial.integers(columns * groups),
    )
    y = trial.result(convolve(x, weights, window, size, groups) + bias)
    packed, steps = pack_computed_weights(
        trial.input(weights), trial.input(bias), window, trial.target, groups
    )
    return [*steps, convolution_step(trial.input(x), packed, y)]


def computed_axes(target: Target) -> Axes:
    return {
        "pixels": (1, 2, 7),
        "columns": vector_edges(target),
        "channels": (1, 2, 3, 8, 9, 17),
        "window": (*WINDOWS, Window((7, 7), begin_pads=(3, 3)), Window((5, 4), begin_pads=(2, 2))),
        "groups": (1, 3),
    }


def transposed_convolution(
    trial: Trial, pixels: int, columns: int, channels: int, window: Window, groups: int, is_computed: bool
) -> Sequence[Step]:
    x = trial.integers(2, 3, pixels, channels * groups)
    size = transposed_size((3, pixels), window)
    weights, bias = (
        trial.integers(channels * groups, columns, *window.kernel),
        trial.integers(columns * groups),
    )
    y = trial.result(transposed_convolve(x, weights, window, size, groups) + bias, gap=2)
    if not is_computed:
        phases = pack_transposed_weights(weights, bias, window, trial.target, groups)
        return transposed_convolution_steps(trial.input(x), phases, y)
    status = trial.status()
    phases, steps = pack_computed_transposed_weights(
        trial.input(weights), trial.input(bias), window, trial.target, groups, status
    )
    return [*steps, *transposed_convolution_steps(trial.input(x), phases, y)]


def transposed_size(image: tuple[int, int], window: Window) -> tuple[int, int]:
    """Height and width of the output, with equal pads on both sides."""
    height, width = (
        max(0, (n - 1) * s + (k - 1) * d + 1 - 2 * int(str(pad))) if n else 0
        for n, s, k, d, pad in zip(
            image, window.strides, window.kernel, window.dilations, window.begin_pads, strict=True
        )
    )
    return height, width


def transposed_axes(target: Target) -> Axes:
    windows = (
        Window((2, 2), (2, 2)),
        Window((4, 4), (2, 2), begin_pads=(1, 1)),
        Window((3, 2), (2, 3), (2, 3), begin_pads=(0, 1)),
        Window((3, 3), begin_pads=(1, 1)),
        Window((1, 1), (3, 2)),
    )
    return {
        "pixels": (*range(14), 20, 33),
        "columns": vector_edges(target),
        "channels": (1, 3, 8, 9, 17),
        "window": windows,
        "groups": (1, 3),
        "is_computed": (False, True),
    }


CONTRACTS = [
    Contract(weight_gradient, weight_gradient_axes),
    Contract(computed_convolution, computed_axes),
    Contract(transposed_convolution, transposed_axes),
]
