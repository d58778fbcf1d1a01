"""Transposed convolutions: a convolution for each phase of the strides, whose pixels lie among each other's.

Pixel o of a line of the result takes pixel i of the input by tap t of the window where o = i * stride - pad + t * dilation.
Pixels o of one rest by the stride take the same taps; along them i runs in steps of one, as in a convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.convolution import Share, rows_of_a_unit, step_of, window_sizes
from sardonyx._src.compile.products.weights import Weights, Window, packed_weights
from sardonyx._src.compile.products.windows import WINDOW, Windows
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import ceil_div, dim_max
from sardonyx._src.ir.tensors import Array


class Phases(Windows):
    """Rows are pixels of one phase: pixel (y, x) of an image is pixel `first` + y * `y_step` + x * `x_step` of the result's."""

    more = (*WINDOW, "first", "image_step", "y_step", "x_step")

    def placed(self, row: Value) -> Value:
        size = self.sizes
        line, x = self.divided(row, size["out_width"])
        image, y = self.divided(line, size["out_height"])
        return size["first"] + image * size["image_step"] + y * size["y_step"] + x * size["x_step"]


@dataclass(frozen=True, slots=True)
class Taps:
    """Which taps of a line of the window a phase takes, from the one of the first input on: `pad` is before the image."""

    taps: tuple[int, ...]
    dilation: int
    pad: int


@dataclass(frozen=True, slots=True)
class Phase:
    """The pixels (y, x), (y + stride, x), ... of a result, and the convolution that makes them."""

    y: int
    x: int
    strides: tuple[int, int]
    weights: Weights


def packed_transposed(
    weights: Array, bias: Array | None, window: Window, target: Target, groups: int = 1
) -> tuple[Phase, ...]:
    """Weights [channels, columns / groups, height, width] and bias [columns] of a transposed convolution, by phases."""
    channels, columns, height, width = weights.shape
    grouped = weights.reshape(groups, channels // groups, columns, height, width).swapaxes(1, 2)
    forward = grouped.reshape(groups * columns, channels // groups, height, width)
    lines = [taps_of(window, 0, phase) for phase in range(window.strides[0])]
    pixels = [taps_of(window, 1, phase) for phase in range(window.strides[1])]
    found = []
    for y, vertical in enumerate(lines):
        for x, horizontal in enumerate(pixels):
            chosen = forward[:, :, np.array(vertical.taps, int)][:, :, :, np.array(horizontal.taps, int)]
            inner = Window(
                (len(vertical.taps), len(horizontal.taps)),
                dilations=(vertical.dilation, horizontal.dilation),
                pads=(vertical.pad, horizontal.pad),
            )
            packed = packed_weights(chosen, bias, inner, target, groups, windows_only=True)
            found.append(Phase(y, x, window.strides, packed))
    return tuple(found)


def taps_of(window: Window, axis: int, phase: int) -> Taps:
    """The taps t with (phase + pad - t * dilation) divisible by the stride, the last one, of the first input, first."""
    stride, dilation = window.strides[axis], window.dilations[axis]
    start = phase + window.pads[axis]
    taps = tuple(t for t in reversed(range(window.kernel[axis])) if (start - t * dilation) % stride == 0)
    first = (start - taps[0] * dilation) // stride if taps else 0
    return Taps(taps, dilation // gcd(stride, dilation), -first)


def transposed_convolution(
    x: Tensor,
    phases: Sequence[Phase],
    y: Tensor,
    tail: Tail | None = None,
    operands: Sequence[Tensor] = (),
    nodes: tuple[str, ...] = (),
) -> list[Step]:
    """Steps that make y [N, Ho, Wo, Co] = tail(transposed convolution of x [N, H, W, C]), each some of its pixels.

    Channels of x are dense; all sizes of y are said by y.
    """
    assert x.strides[3] == 1 or x.shape[3] == 1, f"{x} is not channels-last"
    return [step_of_phase(x, phase, y, tail or Tail(), tuple(operands), nodes) for phase in phases]


def step_of_phase(
    x: Tensor, phase: Phase, y: Tensor, tail: Tail, operands: tuple[Tensor, ...], nodes: tuple[str, ...]
) -> Step:
    weights, (stride_y, stride_x) = phase.weights, phase.strides
    images, height, width, _ = y.shape
    size = tuple(
        dim_max(ceil_div(total - first, stride), 0)
        for total, first, stride in ((height, phase.y, stride_y), (width, phase.x, stride_x))
    )
    total = images * size[0] * size[1]
    rows = rows_of_a_unit(total, weights.tile.rows)
    places = (phase.y * width + phase.x, height * width, width * stride_y, stride_x)
    sizes = (*window_sizes(x, size, weights.window), *places)
    share = Share(Phases, total, rows, ceil_div(total, rows), sizes)
    return step_of(x, weights, y, share, tail, operands, nodes)
