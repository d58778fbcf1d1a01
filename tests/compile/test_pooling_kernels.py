"""Pooling kernels against the definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.pooling.global_pooling import GlobalPoolKind, global_pooling_step
from sardonyx._src.compile.kernels.pooling.pixel_blocks import count_blocks, global_pooling_steps
from sardonyx._src.compile.kernels.pooling.pooling import PoolingAlgorithm, pooling_step
from sardonyx._src.compile.program import Buffer, TensorView, Window, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

ALGORITHMS = [
    PoolingAlgorithm("max"),
    PoolingAlgorithm("mean"),
    PoolingAlgorithm("mean_with_pads"),
    *(PoolingAlgorithm("lp", p) for p in (1, 2, 3)),
]


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def tap_positions(length: int, start: int, taps: int, dilation: int) -> list[int]:
    """The positions of the taps of a window that are in [0, length)."""
    return [i for i in range(start, start + taps * dilation, dilation) if 0 <= i < length]


def compute_expected(x: Array, algorithm: PoolingAlgorithm, window: Window, out: tuple[int, int]) -> Array:
    """The pooling in float64, window by window."""
    n, height, width, channels = x.shape
    top, left, bottom, right = (int(str(p)) for p in (*window.begin_pads, *window.end_pads))
    y = np.empty((n, *out, channels))
    for i, j in np.ndindex(*out):
        axes = [
            (i * window.strides[0] - top, window.kernel[0], window.dilations[0]),
            (j * window.strides[1] - left, window.kernel[1], window.dilations[1]),
        ]
        rows, columns = tap_positions(height, *axes[0]), tap_positions(width, *axes[1])
        elements = x[:, rows][:, :, columns].reshape(n, len(rows) * len(columns), channels).astype(np.float64)
        counted = [
            tap_positions(height + top + bottom, axes[0][0] + top, *axes[0][1:]),
            tap_positions(width + left + right, axes[1][0] + left, *axes[1][1:]),
        ]
        match algorithm.kind:
            case "max":
                y[:, i, j] = elements.max(1, initial=-np.inf)
            case "mean":
                y[:, i, j] = elements.sum(1) / np.float64(elements.shape[1])
            case "mean_with_pads":
                y[:, i, j] = elements.sum(1) / np.float64(len(counted[0]) * len(counted[1]))
            case "lp":
                y[:, i, j] = (np.abs(elements) ** algorithm.p).sum(1) ** (1 / algorithm.p)
    return y


def assert_pools(
    shape: tuple[int, int, int, int],
    algorithm: PoolingAlgorithm,
    window: Window,
    extra_windows: int = 0,
    lanes: int | None = None,
    x: Array | None = None,
) -> None:
    """extra_windows: along each axis, past the padding, as by ceil_mode."""
    if x is None:
        x = floats(np.random.default_rng(sum(shape)), *shape)
    lengths = []
    for i in (0, 1):
        extent = (window.kernel[i] - 1) * window.dilations[i] + 1
        padded = shape[1 + i] + int(str(window.begin_pads[i])) + int(str(window.end_pads[i]))
        lengths.append((padded - extent) // window.strides[i] + 1 + extra_windows)
    y = np.full((shape[0], *lengths, shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = pooling_step(tx, ty, algorithm, window)
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    with np.errstate(all="ignore"):
        expected_y = compute_expected(x, algorithm, window, (lengths[0], lengths[1]))
    if algorithm.kind == "max":
        np.testing.assert_array_equal(y, expected_y.astype(np.float32))
    else:  # one rounding for each of at most 81 terms, to 2^-24 of a sum
        np.testing.assert_allclose(y, expected_y, 1e-5, 1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda p: p.key)
def test_last_window_may_extend_past_the_padding(algorithm: PoolingAlgorithm) -> None:
    assert_pools((1, 7, 9, 17), algorithm, Window((3, 3), (2, 2), (1, 1), (1, 0), (1, 1)), extra_windows=1)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda p: p.key)
def test_window_of_padding_only_yields_the_value_of_an_empty_window(algorithm: PoolingAlgorithm) -> None:
    assert_pools((1, 2, 3, 4), algorithm, Window((2, 2), (1, 1), (1, 1), (3, 3), (3, 3)))


@pytest.mark.parametrize("shape", [(0, 4, 4, 8), (1, 4, 4, 0), (1, 0, 4, 8), (1, 4, 0, 8)])
def test_empty_images_are_accepted(shape: tuple[int, int, int, int]) -> None:
    assert_pools(shape, PoolingAlgorithm("max"), Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)))


@pytest.mark.parametrize("kernel", [(3, 3), (7, 7)])
def test_max_pooling_propagates_nan(kernel: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x = floats(rng, 1, 12, 17, 18)
    x[rng.random(x.shape) < 0.02] = np.nan
    x[rng.random(x.shape) < 0.02] = -np.nan
    x[rng.random(x.shape) < 0.1] = np.inf
    x[rng.random(x.shape) < 0.3] = -np.inf
    assert_pools(
        (1, 12, 17, 18), PoolingAlgorithm("max"), Window(kernel, begin_pads=(1, 1), end_pads=(1, 1)), x=x
    )


def test_epilogue_with_dynamic_sizes_and_strided_pixels() -> None:
    n, h, w = (symbol(name) for name in "nhw")
    rng = np.random.default_rng(2)
    x = floats(rng, 2, 5, 8, 20)
    y = np.full((2, 5, 8, 24), 7, np.float32)
    x_buffer, y_buffer = Buffer("arena", n * h * w * 80, "x"), Buffer("arena", n * h * w * 96, "y")
    tx = TensorView(DataType.FLOAT, (n, h, w, 18), (h * w * 20, w * 20, 20, 1), x_buffer, 1)
    ty = TensorView(DataType.FLOAT, (n, h, w, 18), (h * w * 24, w * 24, 24, 1), y_buffer, 3)
    column = floats(rng, 18)
    tc, sc = guarded.tensor(column)
    window = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))
    epilogue = Epilogue(Apply("mul", (Local("x"), Local("o0"))), ("column",))
    step = pooling_step(tx, ty, PoolingAlgorithm("max"), window, epilogue, (tc,))
    guarded.run(step, {x_buffer: x, y_buffer: y, sc: column}, {"n": 2, "h": 5, "w": 8})
    expected_y = (
        compute_expected(x[..., 1:19], PoolingAlgorithm("max"), window, (5, 8)).astype(np.float32) * column
    )
    np.testing.assert_array_equal(y[..., 3:21], expected_y)
    assert (y[..., :3] == 7).all(), "channels before the slice must not be written"
    assert (y[..., 21:] == 7).all(), "channels after the slice must not be written"


# --- global pooling ------------------------------------------------------------------------------

GLOBAL_KINDS: tuple[GlobalPoolKind, ...] = ("mean", "max")


def assert_pools_globally(
    shape: tuple[int, int, int, int],
    kind: GlobalPoolKind,
    lanes: int | None = None,
    *,
    is_divided: bool = False,
) -> None:
    x = floats(np.random.default_rng(3), *shape)
    y = np.full((shape[0], shape[3]), 7, np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    steps = global_pooling_steps(tx, ty, kind)
    guarded.run([with_lanes(step, lanes) if lanes else step for step in steps], {sx: x, sy: y})
    assert (len(steps) == 2) == is_divided
    elements = x.reshape(shape[0], shape[1] * shape[2], shape[3]).astype(np.float64)
    if kind == "max":
        np.testing.assert_array_equal(y, elements.max(1, initial=-np.inf))
        return
    with np.errstate(all="ignore"):
        expected_y = elements.sum(1) / np.float64(elements.shape[1])
    # at most 256 + 2 roundings, each to 2^-24 of a sum that grows with the square root of its terms
    np.testing.assert_allclose(y, expected_y, 1e-5, 1e-5 / max(elements.shape[1], 1) ** 0.5)


@pytest.mark.parametrize("kind", ["mean", "max"])
@pytest.mark.parametrize("shape", [(2, 28, 28, 45), (1, 14, 14, 200), (2, 9, 14, 300), (1, 7, 20, 256)])
def test_large_images_are_pooled_in_blocks_of_pixels(
    shape: tuple[int, int, int, int], kind: GlobalPoolKind
) -> None:
    assert_pools_globally(shape, kind, is_divided=True)


def test_images_of_odd_or_symbolic_dims_are_pooled_in_one_step() -> None:
    assert_pools_globally((1, 33, 33, 64), "mean")
    assert count_blocks(symbol("h") * 8, 512) == 1


def test_a_nan_of_a_block_makes_the_result_nan() -> None:
    x = np.zeros((1, 16, 16, 128), np.float32)
    x[0, 9, 2, 7] = np.nan
    for kind in GLOBAL_KINDS:
        y = np.zeros((1, 128), np.float32)
        (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
        guarded.run(global_pooling_steps(tx, ty, kind), {sx: x, sy: y})
        assert np.flatnonzero(np.isnan(y[0])).tolist() == [7]


def test_global_mean_of_many_pixels_stays_accurate() -> None:
    x = np.full((1, 512, 512, 3), 1.1, np.float32)
    y = np.zeros((1, 3), np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    guarded.run(global_pooling_step(tx, ty, "mean"), {sx: x, sy: y})
    # 128 roundings of an accumulator and 512 of the total, each to 2^-24
    np.testing.assert_allclose(y, 1.1, 4e-5)


def test_global_max_propagates_nan() -> None:
    x = np.zeros((1, 3, 5, 40), np.float32)
    x[0, 1, 2, 7] = x[0, 2, 4, 39] = np.nan
    y = np.zeros((1, 40), np.float32)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    guarded.run(global_pooling_step(tx, ty, "max"), {sx: x, sy: y})
    assert np.flatnonzero(np.isnan(y[0])).tolist() == [7, 39]


def test_global_pooling_epilogue() -> None:
    rng = np.random.default_rng(4)
    n, h, w = (symbol(name) for name in "nhw")
    x, y, addend = floats(rng, 3, 4, 5, 30), np.zeros((3, 30), np.float32), floats(rng, 3, 30)
    x_buffer, y_buffer = Buffer("arena", n * h * w * 120, "x"), Buffer("arena", n * 120, "y")
    tx = TensorView(DataType.FLOAT, (n, h, w, 30), row_major_strides((n, h, w, 30)), x_buffer)
    ty = TensorView(DataType.FLOAT, (n, 30), (30, 1), y_buffer)
    (tm, sm), epilogue = (
        guarded.tensor(addend),
        Epilogue(Apply("add", (Local("x"), Local("o0"))), ("matrix",)),
    )
    step = global_pooling_step(tx, ty, "mean", epilogue, (tm,))
    guarded.run(step, {x_buffer: x, y_buffer: y, sm: addend}, {"n": 3, "h": 4, "w": 5})
    np.testing.assert_allclose(y, x.mean((1, 2), dtype=np.float64) + addend, 1e-5, 1e-6)
