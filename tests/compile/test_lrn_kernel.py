"""Local response normalisation against float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.loops.ir import Apply, Local, Number
from sardonyx._src.compile.spatial.lrn import Response, response_normalized
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array


def expected(x: Array, response: Response) -> Array:
    """The normalisation in float64."""
    squares = np.square(x.astype(np.float64))
    before, channels = (response.size - 1) // 2, x.shape[3]
    sums = np.zeros_like(squares)
    for channel in range(channels):
        first = channel - before
        sums[..., channel] = squares[..., max(first, 0) : max(first + response.size, 0)].sum(-1)
    return x / (response.bias + response.alpha / response.size * sums) ** response.beta


def run(x: Array, response: Response, lanes: int | None = None) -> Array:
    y = np.full_like(x, 7)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = response_normalized(tx, ty, response)
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    return y


def floats(*shape: int) -> Array:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 20).astype(np.float32)


@pytest.mark.parametrize("channels", [1, 3, 16, 50, 96])
@pytest.mark.parametrize("size", [1, 2, 5, 8, 21])
def test_channels_and_neighbours_of_any_number(channels: int, size: int) -> None:
    x, response = floats(2, 5, 7, channels), Response(size, alpha=0.1)
    np.testing.assert_allclose(run(x, response), expected(x, response), 3e-6)  # a rounding for each term


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.6, 0.75, 1.0, 2.0])
def test_exponents_of_any_kind(beta: float) -> None:
    x, response = floats(1, 3, 3, 33), Response(5, 0.02, beta, 2.0)
    np.testing.assert_allclose(run(x, response), expected(x, response), 3e-6)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_vectors_of_any_width(lanes: int) -> None:
    x, response = floats(1, 3, 7, 27), Response(5, 0.1)
    np.testing.assert_allclose(run(x, response, lanes), expected(x, response), 3e-6)


@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8), (1, 2, 2, 0)])
def test_sizes_may_be_zero(shape: tuple[int, ...]) -> None:
    assert run(floats(*shape), Response(5)).shape == shape


def test_nan_reaches_its_neighbours_and_no_others() -> None:
    x = np.ones((1, 1, 2, 40), np.float32)
    x[0, 0, 0, 20] = np.nan
    assert np.flatnonzero(np.isnan(run(x, Response(5)))).tolist() == [18, 19, 20, 21, 22]


def test_a_tail_follows_and_pixels_may_lie_apart() -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, y = floats(2, 3, 9, 30), np.full((2, 3, 9, 28), 7, np.float32)
    of_x, of_y = Storage("arena", n * h * w * 120, "x"), Storage("arena", n * h * w * 112, "y")
    shape = (n, h, w, 20)
    tx = Tensor(DataType.FLOAT, shape, (h * w * 30, w * 30, 30, 1), of_x, 10)
    ty = Tensor(DataType.FLOAT, shape, (h * w * 28, w * 28, 28, 1), of_y, 4)
    response = Response(5, 0.1)
    tail = Tail(Apply("max", (Local("x"), Number(0.0))))
    guarded.run(response_normalized(tx, ty, response, tail), {of_x: x, of_y: y}, {"n": 2, "h": 3, "w": 9})
    np.testing.assert_allclose(y[..., 4:24], np.maximum(expected(x[..., 10:], response), 0), 3e-6)
    assert (y[..., :4] == 7).all(), "channels before the slice are written"
    assert (y[..., 24:] == 7).all(), "channels behind the slice are written"
