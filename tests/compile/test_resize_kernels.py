"""Resizing against the reference on images in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.spatial.resize import resized
from sardonyx._src.compile.spatial.upsample import upsampled
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.resample import Manner, resample
from sardonyx._src.ops.image.resize.stretch import COORDINATES, NEAREST, Stretch, nearest

SIZES = [(4, 8), (8, 4), (5, 13), (13, 5), (6, 6), (3, 1), (1, 4), (7, 21)]


def axis(size: int, out: int) -> Stretch:
    return Stretch(size, out, Fraction(out, max(size, 1)), single=False)


def whole(size: int) -> Stretch:
    return Stretch(size, size, Fraction(1), single=False)


def run(x: Array, height: Stretch, width: Stretch, manner: Manner, lanes: int | None = None) -> Array | None:
    y = np.full((x.shape[0], height.out, width.out, x.shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = resized(tx, ty, manner, height, width)
    if step is None:
        return None
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    return y


def check(
    shape: tuple[int, ...], height: Stretch, width: Stretch, manner: Manner, lanes: int | None = None
) -> None:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    y = run(x, height, width, manner, lanes)
    assert y is not None, "there is no kernel"
    wanted = resample(x.astype(np.float64), [whole(shape[0]), height, width, whole(shape[3])], manner)
    if manner.mode == "nearest":
        np.testing.assert_array_equal(y, wanted)
    else:  # up to 16 products of weights below 1.3, each rounded to 2^-24 a few times
        np.testing.assert_allclose(y, wanted, 1e-5, 5e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_crop_and_resize"])
def test_nearest_by_all_coordinates(size: tuple[int, int], coordinates: str) -> None:
    for rounding in NEAREST:
        manner = Manner("nearest", COORDINATES[coordinates], rounding)
        check((2, size[0], 6, 19), axis(*size), axis(6, 12), manner)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_crop_and_resize"])
def test_mixtures_by_all_coordinates(size: tuple[int, int], mode: str, coordinates: str) -> None:
    check((1, size[0], 5, 21), axis(*size), axis(5, 9), Manner(mode, COORDINATES[coordinates]))


@pytest.mark.parametrize("exclude", [False, True])
def test_elements_outside_may_have_no_weight(exclude: bool) -> None:
    manner = Manner("cubic", COORDINATES["half_pixel"], exclude_outside=exclude)
    check((1, 4, 4, 8), axis(4, 9), axis(4, 7), manner)


def test_antialiasing_mixes_more_elements() -> None:
    check((1, 8, 4, 5), axis(8, 4), axis(4, 4), Manner("linear", COORDINATES["half_pixel"], antialias=True))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_vectors_of_any_width(mode: str, lanes: int) -> None:
    check((1, 3, 4, 37), axis(3, 6), axis(4, 8), Manner(mode), lanes)


@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8), (1, 2, 2, 0)])
def test_sizes_may_be_zero(shape: tuple[int, ...]) -> None:
    check(shape, axis(shape[1], 2 * shape[1]), axis(2, 4), Manner("linear"))


def test_there_is_no_kernel_for_what_it_cannot_do() -> None:
    x = np.zeros((1, 40, 4, 3), np.float32)
    many = Manner("linear", COORDINATES["half_pixel"], antialias=True)
    assert run(x, axis(40, 2), axis(4, 4), many) is None, "40 pixels are mixed"
    outside = Stretch(40, 40, Fraction(1), single=False, start=-1, stop=2)
    assert run(x, outside, axis(4, 4), Manner("nearest", COORDINATES["tf_crop_and_resize"])) is None
    (tx, _), (ty, _) = guarded.tensor(x), guarded.tensor(x)
    unknown = Tensor(tx.dtype, (1, symbol("h"), 4, 3), tx.strides, tx.storage)
    assert resized(unknown, ty, Manner("nearest"), axis(40, 40), axis(4, 4)) is None


def test_a_tail_follows() -> None:
    x = np.random.default_rng(1).standard_normal((1, 3, 4, 20)).astype(np.float32)
    more, y = np.random.default_rng(2).standard_normal((2, 1, 6, 8, 20)).astype(np.float32)
    (tx, sx), (tm, sm), (ty, sy) = (guarded.tensor(a) for a in (x, more, y))
    tail = Tail(Apply("add", (Local("x"), Local("o0"))), ("matrix",))
    step = resized(tx, ty, Manner("nearest"), axis(3, 6), axis(4, 8), tail, (tm,))
    assert step is not None, "there is no kernel"
    guarded.run(step, {sx: x, sm: more, sy: y})
    np.testing.assert_array_equal(y, x.repeat(2, 1).repeat(2, 2) + more)


@pytest.mark.parametrize("factors", [(1, 1), (2, 2), (3, 1), (1, 4)])
@pytest.mark.parametrize("channels", [1, 16, 37])
def test_pixels_are_repeated(factors: tuple[int, int], channels: int) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x = np.random.default_rng(3).standard_normal((2, 3, 5, channels)).astype(np.float32)
    y = np.full((2, 3 * factors[0], 5 * factors[1], channels + 2), 7, np.float32)
    wide, rows, columns = channels + 2, h * factors[0], w * factors[1]
    of_x = Storage("arena", n * h * w * channels * 4, "x")
    of_y = Storage("arena", n * rows * columns * wide * 4, "y")
    shape = (n, rows, columns, channels)
    tx = Tensor(DataType.FLOAT, (n, h, w, channels), row_major((n, h, w, channels)), of_x)
    ty = Tensor(DataType.FLOAT, shape, (rows * columns * wide, columns * wide, wide, 1), of_y, 2)
    guarded.run(upsampled(tx, ty, factors), {of_x: x, of_y: y}, {"n": 2, "h": 3, "w": 5})
    np.testing.assert_array_equal(y[..., 2:], x.repeat(factors[0], 1).repeat(factors[1], 2))
    assert (y[..., :2] == 7).all(), "channels before the slice are written"


@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel"])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 7])
def test_repeating_is_nearest_mode_by_whole_scales(coordinates: str, factor: int) -> None:
    rounding = ["floor"] if coordinates == "asymmetric" else ["round_prefer_floor", "round_prefer_ceil"]
    for name in rounding:
        at = COORDINATES[coordinates](axis(9, 9 * factor))
        found = nearest(at, axis(9, 9 * factor), name)
        np.testing.assert_array_equal(found, np.arange(9).repeat(factor))
