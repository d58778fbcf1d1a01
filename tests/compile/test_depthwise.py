"""The depthwise convolution kernel against the definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step, pack_depthwise_weights
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, TensorView, Window, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def compute_expected(x: Array, weights: Array, bias: Array, window: Window, out: tuple[int, int]) -> Array:
    """The convolution in float64."""
    n, height, width, channels = x.shape
    (kh, kw), (sh, sw), (dh, dw) = window.kernel, window.strides, window.dilations
    top, left = (int(str(p)) for p in window.begin_pads)
    extent = ((out[0] - 1) * sh + (kh - 1) * dh + 1, (out[1] - 1) * sw + (kw - 1) * dw + 1)
    padded = np.zeros((n, max(extent[0], top + height), max(extent[1], left + width), channels))
    padded[:, top : top + height, left : left + width] = x
    total = np.zeros((n, *out, channels)) + bias
    for i in range(kh):
        for j in range(kw):
            tap = padded[:, i * dh :: sh, j * dw :: sw][:, : out[0], : out[1]]
            total += tap * weights[:, 0, i, j]
    return total


def output_size(size: tuple[int, int], window: Window) -> tuple[int, int]:
    """Height and width of the output."""
    lengths = []
    for i in (0, 1):
        extent = (window.kernel[i] - 1) * window.dilations[i] + 1
        padded = size[i] + int(str(window.begin_pads[i])) + int(str(window.end_pads[i]))
        lengths.append((padded - extent) // window.strides[i] + 1)
    return lengths[0], lengths[1]


def assert_convolves(shape: tuple[int, int, int, int], window: Window, lanes: int | None = None) -> None:
    rng = np.random.default_rng(sum(shape))
    x, out = floats(rng, *shape), output_size(shape[1:3], window)
    weights, bias = floats(rng, shape[3], 1, *window.kernel), floats(rng, shape[3])
    y = np.full((shape[0], *out, shape[3]), np.nan, np.float32)
    memory = [x, pack_depthwise_weights(weights), bias, y]
    tensors = [guarded.tensor(a) for a in memory]
    (tx, sx), (tw, sw), (tb, sb), (ty, sy) = tensors
    step = depthwise_step(tx, tw, ty, tb, window)
    if lanes is not None:
        step = with_lanes(step, lanes)
    guarded.run(step, dict(zip((sx, sw, sb, sy), memory, strict=True)))
    # one rounding for each tap, to 2^-24 of a partial sum; partial sums are below 32
    np.testing.assert_allclose(
        y, compute_expected(x, weights, bias, window, out), 1e-5, window.num_taps * 2e-6
    )


def test_many_channels_are_split_into_units() -> None:
    assert_convolves((1, 3, 4, 700), Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)))


@pytest.mark.parametrize("shape", [(0, 4, 4, 8), (1, 4, 4, 0), (1, 0, 4, 8), (1, 4, 0, 8)])
def test_empty_images_are_accepted(shape: tuple[int, int, int, int]) -> None:
    assert_convolves(shape, Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)))


def test_prefetching_large_images_accesses_no_memory_outside_them() -> None:
    assert_convolves((1, 3, 43700, 16), Window((2, 3), (2, 2), begin_pads=(1, 1), end_pads=(1, 1)))
    min_floats = tuning_for(host_target()).channels_last.prefetch_min_floats
    assert min_floats <= 3 * 43700 * 16, "the image must be large enough to be prefetched"


def test_padding_is_not_multiplied_with_infinity() -> None:
    x, weights = np.ones((1, 1, 3, 4), np.float32), np.ones((4, 1, 3, 3), np.float32)
    x[0, 0, 2] = np.inf
    y = np.empty((1, 1, 3, 4), np.float32)
    memory = [x, pack_depthwise_weights(weights), y]
    (tx, sx), (tw, sw), (ty, sy) = (guarded.tensor(a) for a in memory)
    step = depthwise_step(tx, tw, ty, None, Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1)))
    guarded.run(step, dict(zip((sx, sw, sy), memory, strict=True)))
    np.testing.assert_array_equal(y[0, 0, :, 0], [2, np.inf, np.inf])


def test_epilogue_with_dynamic_sizes_and_strided_pixels() -> None:
    """Input and output are channel slices of wider images; the epilogue has an operand of each layout."""
    rng = np.random.default_rng(5)
    n, h, w = (symbol(name) for name in "nhw")
    sizes, channels, stored_channels = {"n": 2, "h": 6, "w": 10}, 19, 24
    x, addend = floats(rng, 2, 6, 10, stored_channels), floats(rng, 2, 6, 10, channels)
    weights, bias, column, factor = (
        floats(rng, channels, 1, 3, 3), floats(rng, channels), floats(rng, channels), floats(rng, 1),
    )  # fmt: skip
    y = np.full((2, 6, 10, stored_channels), 7, np.float32)
    x_buffer = Buffer("arena", n * h * w * stored_channels * 4, "x")
    y_buffer = Buffer("arena", n * h * w * stored_channels * 4, "y")
    strides = (h * w * stored_channels, w * stored_channels, stored_channels, 1)
    shape = (n, h, w, channels)
    tx = TensorView(DataType.FLOAT, shape, strides, x_buffer, 2)
    ty = TensorView(DataType.FLOAT, shape, strides, y_buffer, 5)
    addend_buffer = Buffer("arena", n * h * w * channels * 4, "addend")
    t_addend = TensorView(DataType.FLOAT, shape, row_major_strides(shape), addend_buffer)
    (tw, sw), (tb, sb), (tc, sc), (tf, sf) = (
        guarded.tensor(a) for a in (pack_depthwise_weights(weights), bias, column, factor)
    )
    scaled = Apply("mul", (Apply("add", (Local("x"), Local("o0"))), Local("o1")))
    value = Apply("max", (Apply("add", (scaled, Local("o2"))), Number(0.0)))
    epilogue = Epilogue(value, ("matrix", "column", "scalar"))
    window = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))
    step = depthwise_step(tx, tw, ty, tb, window, epilogue, (t_addend, tc, tf))
    memory = {
        x_buffer: x,
        y_buffer: y,
        addend_buffer: addend,
        sw: pack_depthwise_weights(weights),
        sb: bias,
        sc: column,
        sf: factor,
    }
    guarded.run(step, memory, sizes)
    sums = compute_expected(x[..., 2:21], weights, bias, window, (6, 10))
    np.testing.assert_allclose(y[..., 5:], np.maximum((sums + addend) * column + factor, 0), 1e-5, 2e-5)
    assert (y[..., :5] == 7).all(), "channels outside the slice must not be written"


def test_units_of_work_are_output_rows() -> None:
    x, _ = guarded.tensor(np.empty((2, 8, 8, 32), np.float32))
    y, _ = guarded.tensor(np.empty((2, 4, 4, 32), np.float32))
    w, _ = guarded.tensor(np.empty((9, 32), np.float32))
    step = depthwise_step(x, w, y, None, Window((3, 3), (2, 2), end_pads=(1, 1)))
    assert step.units == 8
    assert step.flops == 2 * 4 * 4 * 32 * 18
