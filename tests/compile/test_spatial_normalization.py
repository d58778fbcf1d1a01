"""Instance and group normalisation, channels last, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.loops.ir import Apply, Local, Number
from sardonyx._src.compile.spatial.normalization import normalized
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

EPSILON = 1e-5


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def expected(x: Array, scale: Array, bias: Array, groups: int | None) -> Array:
    """The normalisation in float64."""
    n, height, width, channels = x.shape
    count = channels if groups is None else groups
    grouped = x.astype(np.float64).reshape(n, height, width, count, -1)
    mean = grouped.mean((1, 2, 4), keepdims=True)
    variance = grouped.var((1, 2, 4), keepdims=True)
    found: Array = ((grouped - mean) / np.sqrt(variance + EPSILON)).reshape(x.shape) * scale + bias
    return found


def check(x: Array, groups: int | None, lanes: int | None = None) -> None:
    scale, bias, y = floats(x.shape[3]), floats(x.shape[3], 1)[:, 0].copy(), np.full_like(x, 7)
    memory = [x, scale, bias, y]
    tensors = [guarded.tensor(a) for a in memory]
    tx, ts, tb, ty = (t for t, _ in tensors)
    step = normalized(tx, ts, tb, ty, EPSILON, groups)
    storages = (storage for _, storage in tensors)
    guarded.run(with_lanes(step, lanes) if lanes else step, dict(zip(storages, memory, strict=True)))
    if x.size:  # means and variances are rounded a hundred times at most, each time to 2^-24
        np.testing.assert_allclose(y, expected(x, scale, bias, groups), 2e-5, 2e-5)


@pytest.mark.parametrize("size", [(2, 1), (3, 5), (16, 16), (9, 71)])
@pytest.mark.parametrize("channels", [1, 16, 50, 130])
def test_each_channel_alone(size: tuple[int, int], channels: int) -> None:
    check(floats(2, *size, channels), None)


@pytest.mark.parametrize("size", [(2, 1), (3, 5), (16, 16)])
@pytest.mark.parametrize(("channels", "groups"), [(8, 8), (60, 3), (64, 4), (10, 1), (320, 32)])
def test_groups_of_channels(size: tuple[int, int], channels: int, groups: int) -> None:
    check(floats(2, *size, channels), groups)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_vectors_of_any_width(groups: int | None, lanes: int) -> None:
    check(floats(1, 3, 7, 22), groups, lanes)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8)])
def test_sizes_may_be_zero(shape: tuple[int, int, int, int], groups: int | None) -> None:
    check(floats(*shape), groups)


@pytest.mark.parametrize("groups", [None, 2])
def test_a_large_mean_does_not_swallow_the_variance(groups: int | None) -> None:
    check((np.round(floats(1, 8, 8, 4) * 64) / 64 + 512).astype(np.float32), groups)


@pytest.mark.parametrize("groups", [None, 4])
def test_a_tail_follows_and_pixels_may_lie_apart(groups: int | None) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, y, scale, bias = floats(2, 3, 5, 24), np.full((2, 3, 5, 26), 7, np.float32), floats(20), floats(20)
    of_x, of_y = Storage("arena", n * h * w * 96, "x"), Storage("arena", n * h * w * 104, "y")
    shape = (n, h, w, 20)
    tx = Tensor(DataType.FLOAT, shape, (h * w * 24, w * 24, 24, 1), of_x, 4)
    ty = Tensor(DataType.FLOAT, shape, (h * w * 26, w * 26, 26, 1), of_y, 2)
    (ts, ss), (tb, sb) = guarded.tensor(scale), guarded.tensor(bias)
    tail = Tail(Apply("max", (Local("x"), Number(0.0))))
    step = normalized(tx, ts, tb, ty, EPSILON, groups, tail)
    guarded.run(step, {of_x: x, of_y: y, ss: scale, sb: bias}, {"n": 2, "h": 3, "w": 5})
    wanted = np.maximum(expected(x[..., 4:], scale, bias, groups), 0)
    np.testing.assert_allclose(y[..., 2:22], wanted, 2e-5, 2e-5)
    assert (y[..., :2] == 7).all(), "channels before the slice are written"
    assert (y[..., 22:] == 7).all(), "channels behind the slice are written"
