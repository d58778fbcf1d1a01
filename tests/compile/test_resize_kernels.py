"""Resize kernels against the reference implementation in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.resize.resize import constant_tables, resize_step, table_constant
from sardonyx._src.compile.kernels.resize.upsample import upsample_step
from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.image.resize.resample import ResampleMode, resample
from sardonyx._src.ops.image.resize.resampled_axis import COORDINATES, NEAREST, ResampledAxis, nearest

SIZES = [(4, 8), (8, 4), (5, 13), (13, 5), (6, 6), (3, 1), (1, 4), (7, 21)]


def axis(size: int, out: int) -> ResampledAxis:
    return ResampledAxis(size, out, Fraction(out, max(size, 1)), is_float32=False)


def identity(size: int) -> ResampledAxis:
    return ResampledAxis(size, size, Fraction(1), is_float32=False)


def tables(resample_mode: ResampleMode, height: ResampledAxis, width: ResampledAxis) -> list[TensorView]:
    arrays = constant_tables(resample_mode, height, width)
    assert arrays is not None, "there must be a kernel"
    return [table_constant(array) for array in arrays]


def run(
    x: Array,
    height: ResampledAxis,
    width: ResampledAxis,
    resample_mode: ResampleMode,
    lanes: int | None = None,
) -> Array:
    y = np.full((x.shape[0], height.out, width.out, x.shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = resize_step(tx, ty, tables(resample_mode, height, width))
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    return y


def assert_resizes(
    shape: tuple[int, ...],
    height: ResampledAxis,
    width: ResampledAxis,
    resample_mode: ResampleMode,
    lanes: int | None = None,
) -> None:
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    y = run(x, height, width, resample_mode, lanes)
    expected_y = resample(
        x.astype(np.float64), [identity(shape[0]), height, width, identity(shape[3])], resample_mode
    )
    if resample_mode.mode == "nearest":
        np.testing.assert_array_equal(y, expected_y)
    else:  # up to 16 products with weights below 1.3, each with a few roundings to 2^-24
        np.testing.assert_allclose(y, expected_y, 1e-5, 5e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_crop_and_resize"])
def test_nearest_in_every_coordinate_mode(size: tuple[int, int], coordinates: str) -> None:
    for nearest_mode in NEAREST:
        resample_mode = ResampleMode("nearest", COORDINATES[coordinates], nearest_mode)
        assert_resizes((2, size[0], 6, 19), axis(*size), axis(6, 12), resample_mode)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "tf_crop_and_resize"])
def test_interpolation_in_every_coordinate_mode(size: tuple[int, int], mode: str, coordinates: str) -> None:
    assert_resizes((1, size[0], 5, 21), axis(*size), axis(5, 9), ResampleMode(mode, COORDINATES[coordinates]))


@pytest.mark.parametrize("exclude", [False, True])
def test_taps_outside_the_image_may_be_excluded(exclude: bool) -> None:
    resample_mode = ResampleMode("cubic", COORDINATES["half_pixel"], exclude_outside=exclude)
    assert_resizes((1, 4, 4, 8), axis(4, 9), axis(4, 7), resample_mode)


def test_antialiasing_uses_more_taps() -> None:
    assert_resizes(
        (1, 8, 4, 5),
        axis(8, 4),
        axis(4, 4),
        ResampleMode("linear", COORDINATES["half_pixel"], antialias=True),
    )


@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8), (1, 2, 2, 0)])
def test_empty_images_are_accepted(shape: tuple[int, ...]) -> None:
    assert_resizes(shape, axis(shape[1], 2 * shape[1]), axis(2, 4), ResampleMode("linear"))


def test_no_tables_for_many_taps_and_positions_outside() -> None:
    antialiased = ResampleMode("linear", COORDINATES["half_pixel"], antialias=True)
    assert constant_tables(antialiased, axis(40, 2), axis(4, 4)) is None, "40 taps must be refused"
    cropped = ResampleMode("nearest", COORDINATES["tf_crop_and_resize"])
    outside = ResampledAxis(40, 40, Fraction(1), is_float32=False, start=-1, stop=2)
    assert constant_tables(cropped, outside, axis(4, 4)) is None
    assert constant_tables(cropped, axis(40, 40), axis(4, 4)) is not None


def test_resize_epilogue() -> None:
    x = np.random.default_rng(1).standard_normal((1, 3, 4, 20)).astype(np.float32)
    addend, y = np.random.default_rng(2).standard_normal((2, 1, 6, 8, 20)).astype(np.float32)
    (tx, sx), (tm, sm), (ty, sy) = (guarded.tensor(a) for a in (x, addend, y))
    epilogue = Epilogue(Apply("add", (Local("x"), Local("o0"))), ("matrix",))
    step = resize_step(tx, ty, tables(ResampleMode("nearest"), axis(3, 6), axis(4, 8)), epilogue, (tm,))
    guarded.run(step, {sx: x, sm: addend, sy: y})
    np.testing.assert_array_equal(y, x.repeat(2, 1).repeat(2, 2) + addend)


@pytest.mark.parametrize("factors", [(1, 1), (2, 2), (3, 1), (1, 4)])
@pytest.mark.parametrize("channels", [1, 16, 37])
def test_upsampling_repeats_pixels(factors: tuple[int, int], channels: int) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x = np.random.default_rng(3).standard_normal((2, 3, 5, channels)).astype(np.float32)
    y = np.full((2, 3 * factors[0], 5 * factors[1], channels + 2), 7, np.float32)
    stored_channels, rows, columns = channels + 2, h * factors[0], w * factors[1]
    x_buffer = Buffer("arena", n * h * w * channels * 4, "x")
    y_buffer = Buffer("arena", n * rows * columns * stored_channels * 4, "y")
    shape = (n, rows, columns, channels)
    tx = TensorView(DataType.FLOAT, (n, h, w, channels), row_major_strides((n, h, w, channels)), x_buffer)
    ty = TensorView(
        DataType.FLOAT,
        shape,
        (rows * columns * stored_channels, columns * stored_channels, stored_channels, 1),
        y_buffer,
        2,
    )
    guarded.run(upsample_step(tx, ty, factors), {x_buffer: x, y_buffer: y}, {"n": 2, "h": 3, "w": 5})
    np.testing.assert_array_equal(y[..., 2:], x.repeat(factors[0], 1).repeat(factors[1], 2))
    assert (y[..., :2] == 7).all(), "channels before the slice must not be written"


@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel"])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 7])
def test_upsampling_is_nearest_mode_with_integer_scales(coordinates: str, factor: int) -> None:
    nearest_modes = ["floor"] if coordinates == "asymmetric" else ["round_prefer_floor", "round_prefer_ceil"]
    for name in nearest_modes:
        positions = COORDINATES[coordinates](axis(9, 9 * factor))
        indices = nearest(positions, axis(9, 9 * factor), name)
        np.testing.assert_array_equal(indices, np.arange(9).repeat(factor))
