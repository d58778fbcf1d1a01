"""Depthwise convolutions of any size against sums in float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.loops.ir import Apply, Local, Number
from sardonyx._src.compile.spatial.depthwise import depthwise, packed
from sardonyx._src.compile.spatial.window import Window
from sardonyx._src.compile.spatial.windows import FAR
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def expected(x: Array, weights: Array, bias: Array, window: Window, out: tuple[int, int]) -> Array:
    """The convolution in float64."""
    n, height, width, channels = x.shape
    (kh, kw), (sh, sw), (dh, dw) = window.kernel, window.strides, window.dilations
    top, left = (int(str(p)) for p in window.pads[:2])
    reach = ((out[0] - 1) * sh + (kh - 1) * dh + 1, (out[1] - 1) * sw + (kw - 1) * dw + 1)
    whole = np.zeros((n, max(reach[0], top + height), max(reach[1], left + width), channels))
    whole[:, top : top + height, left : left + width] = x
    total = np.zeros((n, *out, channels)) + bias
    for i in range(kh):
        for j in range(kw):
            below = whole[:, i * dh :: sh, j * dw :: sw][:, : out[0], : out[1]]
            total += below * weights[:, 0, i, j]
    return total


def outputs(size: tuple[int, int], window: Window) -> tuple[int, int]:
    """How many windows there are."""
    found = []
    for i in (0, 1):
        reach = (window.kernel[i] - 1) * window.dilations[i] + 1
        room = size[i] + int(str(window.pads[i])) + int(str(window.pads[i + 2])) - reach
        found.append(room // window.strides[i] + 1)
    return found[0], found[1]


def check(shape: tuple[int, int, int, int], window: Window, lanes: int | None = None) -> None:
    rng = np.random.default_rng(sum(shape))
    x, out = floats(rng, *shape), outputs(shape[1:3], window)
    weights, bias = floats(rng, shape[3], 1, *window.kernel), floats(rng, shape[3])
    y = np.full((shape[0], *out, shape[3]), np.nan, np.float32)
    memory = [x, packed(weights), bias, y]
    tensors = [guarded.tensor(a) for a in memory]
    (tx, sx), (tw, sw), (tb, sb), (ty, sy) = tensors
    step = depthwise(tx, tw, ty, tb, window)
    if lanes is not None:
        step = with_lanes(step, lanes)
    guarded.run(step, dict(zip((sx, sw, sb, sy), memory, strict=True)))
    # each of the taps rounds once, to 2^-24 of a partial sum, and partial sums stay below 32
    np.testing.assert_allclose(y, expected(x, weights, bias, window, out), 1e-5, window.taps * 2e-6)


@pytest.mark.parametrize("kernel", [(3, 3), (5, 5), (1, 1), (2, 3), (7, 7), (1, 9)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_kernels_and_strides_of_any_size(kernel: tuple[int, int], stride: int) -> None:
    pads = (kernel[0] // 2, kernel[1] // 2) * 2
    check((2, 11, 19, 35), Window(kernel, (stride, stride), (1, 1), pads))


@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_taps_may_lie_apart(dilation: int) -> None:
    pads = (dilation, dilation + 1, 0, 2 * dilation)
    check((1, 9, 17, 16), Window((3, 3), (1, 1), (dilation, dilation), pads))


@pytest.mark.parametrize("width", [1, 2, 7, 8, 14, 15, 29, 40])
@pytest.mark.parametrize("channels", [1, 15, 16, 33])
def test_rows_and_channels_of_any_length(width: int, channels: int) -> None:
    check((1, 3, width, channels), Window((3, 3), pads=(1, 1, 1, 1)))


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("kernel", [(3, 3), (3, 6)])
def test_vectors_of_any_width(lanes: int, kernel: tuple[int, int]) -> None:
    check((1, 5, 23, 21), Window(kernel, pads=(1, 2, 1, 2)), lanes)


def test_windows_may_lie_in_the_padding_alone() -> None:
    check((1, 2, 2, 5), Window((3, 3), pads=(4, 5, 4, 5)))


def test_many_channels_are_shared_out() -> None:
    check((1, 3, 4, 700), Window((3, 3), pads=(1, 1, 1, 1)))


@pytest.mark.parametrize("shape", [(0, 4, 4, 8), (1, 4, 4, 0), (1, 0, 4, 8), (1, 4, 0, 8)])
def test_sizes_may_be_zero(shape: tuple[int, int, int, int]) -> None:
    check(shape, Window((3, 3), pads=(1, 1, 1, 1)))


def test_large_images_are_asked_for_ahead_and_nothing_outside_is_touched() -> None:
    check((1, 3, 43700, 16), Window((2, 3), (2, 2), pads=(1, 1, 1, 1)))
    assert FAR <= 3 * 43700 * 16, "the image is not large"


def test_padding_meets_no_infinite_element() -> None:
    x, weights = np.ones((1, 1, 3, 4), np.float32), np.ones((4, 1, 3, 3), np.float32)
    x[0, 0, 2] = np.inf
    y = np.empty((1, 1, 3, 4), np.float32)
    memory = [x, packed(weights), y]
    (tx, sx), (tw, sw), (ty, sy) = (guarded.tensor(a) for a in memory)
    step = depthwise(tx, tw, ty, None, Window((3, 3), pads=(1, 1, 1, 1)))
    guarded.run(step, dict(zip((sx, sw, sy), memory, strict=True)))
    np.testing.assert_array_equal(y[0, 0, :, 0], [2, np.inf, np.inf])


def test_a_tail_follows_and_pixels_may_lie_apart() -> None:
    """Symbolic sizes, an output that is a slice of a wider one, and operands of each kind."""
    rng = np.random.default_rng(5)
    n, h, w = (symbol(name) for name in "nhw")
    sizes, channels, wide = {"n": 2, "h": 6, "w": 10}, 19, 24
    x, more = floats(rng, 2, 6, 10, wide), floats(rng, 2, 6, 10, channels)
    weights, bias, column, factor = (
        floats(rng, channels, 1, 3, 3), floats(rng, channels), floats(rng, channels), floats(rng, 1),
    )  # fmt: skip
    y = np.full((2, 6, 10, wide), 7, np.float32)
    of_x, of_y = Storage("arena", n * h * w * wide * 4, "x"), Storage("arena", n * h * w * wide * 4, "y")
    strides = (h * w * wide, w * wide, wide, 1)
    shape = (n, h, w, channels)
    tx = Tensor(DataType.FLOAT, shape, strides, of_x, 2)
    ty = Tensor(DataType.FLOAT, shape, strides, of_y, 5)
    of_more = Storage("arena", n * h * w * channels * 4, "more")
    t_more = Tensor(DataType.FLOAT, shape, row_major(shape), of_more)
    (tw, sw), (tb, sb), (tc, sc), (tf, sf) = (
        guarded.tensor(a) for a in (packed(weights), bias, column, factor)
    )
    scaled = Apply("mul", (Apply("add", (Local("x"), Local("o0"))), Local("o1")))
    value = Apply("max", (Apply("add", (scaled, Local("o2"))), Number(0.0)))
    tail = Tail(value, ("matrix", "column", "scalar"))
    step = depthwise(tx, tw, ty, tb, Window((3, 3), pads=(1, 1, 1, 1)), tail, (t_more, tc, tf))
    memory = {of_x: x, of_y: y, of_more: more, sw: packed(weights), sb: bias, sc: column, sf: factor}
    guarded.run(step, memory, sizes)
    window = Window((3, 3), pads=(1, 1, 1, 1))
    sums = expected(x[..., 2:21], weights, bias, window, (6, 10))
    np.testing.assert_allclose(y[..., 5:], np.maximum((sums + more) * column + factor, 0), 1e-5, 2e-5)
    assert (y[..., :5] == 7).all(), "channels outside of the slice are written"


def test_units_are_rows_of_the_output() -> None:
    x, _ = guarded.tensor(np.empty((2, 8, 8, 32), np.float32))
    y, _ = guarded.tensor(np.empty((2, 4, 4, 32), np.float32))
    w, _ = guarded.tensor(np.empty((9, 32), np.float32))
    step = depthwise(x, w, y, None, Window((3, 3), (2, 2), pads=(0, 0, 1, 1)))
    assert step.units == 8
    assert step.flops == 2 * 4 * 4 * 32 * 18
