"""Channels-last instance and group normalization kernels against the definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.channels_last.normalization import channels_last_norm_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

EPSILON = 1e-5


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def compute_expected(x: Array, scale: Array, bias: Array, groups: int | None) -> Array:
    """The normalization in float64."""
    n, height, width, channels = x.shape
    count = channels if groups is None else groups
    grouped = x.astype(np.float64).reshape(n, height, width, count, -1)
    mean = grouped.mean((1, 2, 4), keepdims=True)
    variance = grouped.var((1, 2, 4), keepdims=True)
    normalized: Array = ((grouped - mean) / np.sqrt(variance + EPSILON)).reshape(x.shape)
    return normalized * scale + bias


def assert_normalizes(x: Array, groups: int | None, lanes: int | None = None) -> None:
    scale, bias, y = floats(x.shape[3]), floats(x.shape[3], 1)[:, 0].copy(), np.full_like(x, 7)
    memory = [x, scale, bias, y]
    tensors = [guarded.tensor(a) for a in memory]
    tx, ts, tb, ty = (t for t, _ in tensors)
    step = channels_last_norm_step(tx, ts, tb, ty, EPSILON, groups)
    buffers = (buffer for _, buffer in tensors)
    guarded.run(with_lanes(step, lanes) if lanes else step, dict(zip(buffers, memory, strict=True)))
    if x.size:  # at most a hundred roundings of means and variances, each to 2^-24
        np.testing.assert_allclose(y, compute_expected(x, scale, bias, groups), 2e-5, 2e-5)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8)])
def test_empty_images_are_accepted(shape: tuple[int, int, int, int], groups: int | None) -> None:
    assert_normalizes(floats(*shape), groups)


@pytest.mark.parametrize("groups", [None, 2])
def test_variance_is_accurate_beside_a_large_mean(groups: int | None) -> None:
    assert_normalizes((np.round(floats(1, 8, 8, 4) * 64) / 64 + 512).astype(np.float32), groups)


@pytest.mark.parametrize("groups", [None, 4])
def test_epilogue_with_dynamic_sizes_and_strided_pixels(groups: int | None) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, y, scale, bias = floats(2, 3, 5, 24), np.full((2, 3, 5, 26), 7, np.float32), floats(20), floats(20)
    x_buffer, y_buffer = Buffer("arena", n * h * w * 96, "x"), Buffer("arena", n * h * w * 104, "y")
    shape = (n, h, w, 20)
    tx = TensorView(DataType.FLOAT, shape, (h * w * 24, w * 24, 24, 1), x_buffer, 4)
    ty = TensorView(DataType.FLOAT, shape, (h * w * 26, w * 26, 26, 1), y_buffer, 2)
    (ts, ss), (tb, sb) = guarded.tensor(scale), guarded.tensor(bias)
    epilogue = Epilogue(Apply("max", (Local("x"), Number(0.0))))
    step = channels_last_norm_step(tx, ts, tb, ty, EPSILON, groups, epilogue)
    guarded.run(step, {x_buffer: x, y_buffer: y, ss: scale, sb: bias}, {"n": 2, "h": 3, "w": 5})
    expected_y = np.maximum(compute_expected(x[..., 4:], scale, bias, groups), 0)
    np.testing.assert_allclose(y[..., 2:22], expected_y, 2e-5, 2e-5)
    assert (y[..., :2] == 7).all(), "channels before the slice must not be written"
    assert (y[..., 22:] == 7).all(), "channels after the slice must not be written"
