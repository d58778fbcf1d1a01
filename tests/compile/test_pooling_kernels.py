"""Pooling of any windows against float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.spatial.global_pooling import GlobalPool, globally_pooled
from sardonyx._src.compile.spatial.pooling import Pooling, pooled, pooled_in_two
from sardonyx._src.compile.spatial.window import Window
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

POOLINGS = [
    Pooling("max"),
    Pooling("mean"),
    Pooling("mean_with_pads"),
    *(Pooling("lp", p) for p in (1, 2, 3)),
]


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def below(length: int, start: int, taps: int, apart: int) -> list[int]:
    return [at for at in range(start, start + taps * apart, apart) if 0 <= at < length]


def expected(x: Array, pooling: Pooling, window: Window, out: tuple[int, int]) -> Array:
    """The pooling in float64, window by window."""
    n, height, width, channels = x.shape
    top, left, bottom, right = (int(str(p)) for p in window.pads)
    y = np.empty((n, *out, channels))
    for i, j in np.ndindex(*out):
        places = [
            (i * window.strides[0] - top, window.kernel[0], window.dilations[0]),
            (j * window.strides[1] - left, window.kernel[1], window.dilations[1]),
        ]
        rows, columns = below(height, *places[0]), below(width, *places[1])
        elements = x[:, rows][:, :, columns].reshape(n, len(rows) * len(columns), channels).astype(np.float64)
        counted = [
            below(height + top + bottom, places[0][0] + top, *places[0][1:]),
            below(width + left + right, places[1][0] + left, *places[1][1:]),
        ]
        match pooling.kind:
            case "max":
                y[:, i, j] = elements.max(1, initial=-np.inf)
            case "mean":
                y[:, i, j] = elements.sum(1) / np.float64(elements.shape[1])
            case "mean_with_pads":
                y[:, i, j] = elements.sum(1) / np.float64(len(counted[0]) * len(counted[1]))
            case "lp":
                y[:, i, j] = (np.abs(elements) ** pooling.p).sum(1) ** (1 / pooling.p)
    return y


def check(
    shape: tuple[int, int, int, int],
    pooling: Pooling,
    window: Window,
    beyond: int = 0,
    lanes: int | None = None,
    x: Array | None = None,
) -> None:
    """beyond: windows more than fit, as ceil_mode has them."""
    if x is None:
        x = floats(np.random.default_rng(sum(shape)), *shape)
    out = []
    for i in (0, 1):
        reach = (window.kernel[i] - 1) * window.dilations[i] + 1
        room = shape[1 + i] + int(str(window.pads[i])) + int(str(window.pads[i + 2])) - reach
        out.append(room // window.strides[i] + 1 + beyond)
    y = np.full((shape[0], *out, shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = pooled(tx, ty, pooling, window)
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    with np.errstate(all="ignore"):
        wanted = expected(x, pooling, window, (out[0], out[1]))
    if pooling.kind == "max":
        np.testing.assert_array_equal(y, wanted.astype(np.float32))
    else:  # each of at most 81 terms rounds once, to 2^-24 of a sum
        np.testing.assert_allclose(y, wanted, 1e-5, 1e-6)


@pytest.mark.parametrize("pooling", POOLINGS, ids=lambda p: p.key)
@pytest.mark.parametrize("kernel", [(2, 2), (3, 3), (1, 5), (6, 7)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_of_any_size(pooling: Pooling, kernel: tuple[int, int], stride: int) -> None:
    pads = (0, kernel[1] // 2, kernel[0] // 2, 0)
    check((2, 9, 18, 19), pooling, Window(kernel, (stride, stride), (1, 1), pads))


@pytest.mark.parametrize("pooling", POOLINGS, ids=lambda p: p.key)
@pytest.mark.parametrize("dilation", [2, 3])
def test_taps_may_lie_apart(pooling: Pooling, dilation: int) -> None:
    check((1, 9, 16, 5), pooling, Window((3, 3), (1, 2), (dilation, dilation), (2, 1, 1, 3)))


@pytest.mark.parametrize("pooling", POOLINGS, ids=lambda p: p.key)
def test_a_last_window_may_reach_beyond_the_padding(pooling: Pooling) -> None:
    check((1, 7, 9, 17), pooling, Window((3, 3), (2, 2), (1, 1), (1, 0, 1, 1)), beyond=1)


@pytest.mark.parametrize("pooling", POOLINGS, ids=lambda p: p.key)
def test_a_window_of_padding_has_the_value_of_nothing(pooling: Pooling) -> None:
    check((1, 2, 3, 4), pooling, Window((2, 2), (1, 1), (1, 1), (3, 3, 3, 3)))


@pytest.mark.parametrize("pooling", POOLINGS, ids=lambda p: p.key)
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_vectors_of_any_width(pooling: Pooling, lanes: int) -> None:
    check((1, 4, 16, 11), pooling, Window((3, 3), (2, 2), (1, 1), (1, 1, 1, 1)), lanes=lanes)


@pytest.mark.parametrize("shape", [(0, 4, 4, 8), (1, 4, 4, 0), (1, 0, 4, 8), (1, 4, 0, 8)])
def test_sizes_may_be_zero(shape: tuple[int, int, int, int]) -> None:
    check(shape, Pooling("max"), Window((3, 3), pads=(1, 1, 1, 1)))


@pytest.mark.parametrize("kernel", [(3, 3), (7, 7)])
def test_the_greatest_element_is_nan_where_any_is(kernel: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x = floats(rng, 1, 12, 17, 18)
    x[rng.random(x.shape) < 0.02] = np.nan
    x[rng.random(x.shape) < 0.02] = -np.nan
    x[rng.random(x.shape) < 0.1] = np.inf
    x[rng.random(x.shape) < 0.3] = -np.inf
    check((1, 12, 17, 18), Pooling("max"), Window(kernel, pads=(1, 1, 1, 1)), x=x)


def test_a_tail_follows_and_images_may_be_slices() -> None:
    n, h, w = (symbol(name) for name in "nhw")
    rng = np.random.default_rng(2)
    x = floats(rng, 2, 5, 8, 20)
    y = np.full((2, 5, 8, 24), 7, np.float32)
    of_x, of_y = Storage("arena", n * h * w * 80, "x"), Storage("arena", n * h * w * 96, "y")
    tx = Tensor(DataType.FLOAT, (n, h, w, 18), (h * w * 20, w * 20, 20, 1), of_x, 1)
    ty = Tensor(DataType.FLOAT, (n, h, w, 18), (h * w * 24, w * 24, 24, 1), of_y, 3)
    column = floats(rng, 18)
    tc, sc = guarded.tensor(column)
    window = Window((3, 3), pads=(1, 1, 1, 1))
    tail = Tail(Apply("mul", (Local("x"), Local("o0"))), ("column",))
    step = pooled(tx, ty, Pooling("max"), window, tail, (tc,))
    guarded.run(step, {of_x: x, of_y: y, sc: column}, {"n": 2, "h": 5, "w": 8})
    wanted = expected(x[..., 1:19], Pooling("max"), window, (5, 8)).astype(np.float32) * column
    np.testing.assert_array_equal(y[..., 3:21], wanted)
    assert (y[..., :3] == 7).all(), "channels before the slice are written"
    assert (y[..., 21:] == 7).all(), "channels behind the slice are written"


@pytest.mark.parametrize("kernel", [(5, 5), (13, 9)])
@pytest.mark.parametrize("stride", [1, 2])
def test_large_windows_are_pooled_by_rows_and_columns(kernel: tuple[int, int], stride: int) -> None:
    pads = (kernel[0] // 2, kernel[1] // 2) * 2
    window = Window(kernel, (stride, stride), (1, 1), pads)
    x = floats(np.random.default_rng(7), 2, 13, 15, 20)
    x[1, 6, 7, 3] = np.nan
    out = (-(-13 // stride), -(-15 // stride))
    y = np.zeros((2, *out, 20), np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    guarded.run(pooled_in_two(tx, ty, window), {sx: x, sy: y})
    np.testing.assert_array_equal(y, expected(x, Pooling("max"), window, out).astype(np.float32))


# --- all pixels at once ------------------------------------------------------------------------


def check_global(shape: tuple[int, int, int, int], kind: GlobalPool, lanes: int | None = None) -> None:
    x = floats(np.random.default_rng(3), *shape)
    y = np.full((shape[0], shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = globally_pooled(tx, ty, kind)
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    elements = x.reshape(shape[0], shape[1] * shape[2], shape[3]).astype(np.float64)
    if kind == "max":
        np.testing.assert_array_equal(y, elements.max(1, initial=-np.inf))
        return
    with np.errstate(all="ignore"):
        wanted = elements.sum(1) / np.float64(elements.shape[1])
    # at most 256 + 2 roundings, each to 2^-24 of a sum that grows as the root of its terms
    np.testing.assert_allclose(y, wanted, 1e-5, 1e-5 / max(elements.shape[1], 1) ** 0.5)


@pytest.mark.parametrize("kind", ["mean", "max"])
@pytest.mark.parametrize("size", [(1, 1), (7, 7), (1, 63), (16, 16), (33, 31), (0, 3)])
@pytest.mark.parametrize("channels", [1, 16, 70, 200])
def test_all_pixels_at_once(kind: GlobalPool, size: tuple[int, int], channels: int) -> None:
    check_global((2, *size, channels), kind)


@pytest.mark.parametrize("kind", ["mean", "max"])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_all_pixels_at_once_with_vectors_of_any_width(kind: GlobalPool, lanes: int) -> None:
    check_global((1, 5, 9, 43), kind, lanes)


def test_a_mean_of_many_pixels_stays_accurate() -> None:
    x = np.full((1, 512, 512, 3), 1.1, np.float32)
    y = np.zeros((1, 3), np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    guarded.run(globally_pooled(tx, ty, "mean"), {sx: x, sy: y})
    np.testing.assert_allclose(y, 1.1, 4e-5)  # 128 roundings of a strand and 512 of the whole, each to 2^-24


def test_the_greatest_of_all_pixels_is_nan_where_any_is() -> None:
    x = np.zeros((1, 3, 5, 40), np.float32)
    x[0, 1, 2, 7] = x[0, 2, 4, 39] = np.nan
    y = np.zeros((1, 40), np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    guarded.run(globally_pooled(tx, ty, "max"), {sx: x, sy: y})
    assert np.flatnonzero(np.isnan(y[0])).tolist() == [7, 39]


def test_a_tail_follows_all_pixels() -> None:
    rng = np.random.default_rng(4)
    n, h, w = (symbol(name) for name in "nhw")
    x, y, more = floats(rng, 3, 4, 5, 30), np.zeros((3, 30), np.float32), floats(rng, 3, 30)
    of_x, of_y = Storage("arena", n * h * w * 120, "x"), Storage("arena", n * 120, "y")
    tx = Tensor(DataType.FLOAT, (n, h, w, 30), row_major((n, h, w, 30)), of_x)
    ty = Tensor(DataType.FLOAT, (n, 30), (30, 1), of_y)
    (tm, sm), tail = guarded.tensor(more), Tail(Apply("add", (Local("x"), Local("o0"))), ("matrix",))
    step = globally_pooled(tx, ty, "mean", tail, (tm,))
    guarded.run(step, {of_x: x, of_y: y, sm: more}, {"n": 3, "h": 4, "w": 5})
    np.testing.assert_allclose(y, x.mean((1, 2), dtype=np.float64) + more, 1e-5, 1e-6)
