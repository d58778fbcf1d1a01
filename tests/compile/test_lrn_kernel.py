"""The LRN kernel against the definition in float64."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.lane_widths import with_lanes
from models import parse_model
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.channels_last.lrn import LrnParameters, lrn_step
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol


def compute_expected(x: Array, lrn: LrnParameters) -> Array:
    """LRN in float64."""
    squares = np.square(x.astype(np.float64))
    before, channels = (lrn.size - 1) // 2, x.shape[3]
    sums = np.zeros_like(squares)
    for channel in range(channels):
        first = channel - before
        sums[..., channel] = squares[..., max(first, 0) : max(first + lrn.size, 0)].sum(-1)
    return x / (lrn.bias + lrn.alpha / lrn.size * sums) ** lrn.beta


def run(x: Array, lrn: LrnParameters, lanes: int | None = None) -> Array:
    y = np.full_like(x, 7)
    (tx, sx), (ty, sy) = guarded.tensor(x), guarded.tensor(y)
    step = lrn_step(tx, ty, lrn)
    guarded.run(with_lanes(step, lanes) if lanes else step, {sx: x, sy: y})
    return y


def floats(*shape: int) -> Array:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 20).astype(np.float32)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.6, 0.75, 1.0, 2.0])
def test_exponents_with_and_without_square_roots(beta: float) -> None:
    x, lrn = floats(1, 3, 3, 33), LrnParameters(5, 0.02, beta, 2.0)
    np.testing.assert_allclose(run(x, lrn), compute_expected(x, lrn), 3e-6)


@pytest.mark.parametrize("shape", [(0, 2, 2, 8), (1, 0, 2, 8), (1, 2, 2, 0)])
def test_empty_images_are_accepted(shape: tuple[int, ...]) -> None:
    assert run(floats(*shape), LrnParameters(5)).shape == shape


def test_nan_affects_its_neighbors_only() -> None:
    x = np.ones((1, 1, 2, 40), np.float32)
    x[0, 0, 0, 20] = np.nan
    assert np.flatnonzero(np.isnan(run(x, LrnParameters(5)))).tolist() == [18, 19, 20, 21, 22]


def test_epilogue_with_dynamic_sizes_and_strided_pixels() -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, y = floats(2, 3, 9, 30), np.full((2, 3, 9, 28), 7, np.float32)
    x_buffer, y_buffer = Buffer("arena", n * h * w * 120, "x"), Buffer("arena", n * h * w * 112, "y")
    shape = (n, h, w, 20)
    tx = TensorView(DataType.FLOAT, shape, (h * w * 30, w * 30, 30, 1), x_buffer, 10)
    ty = TensorView(DataType.FLOAT, shape, (h * w * 28, w * 28, 28, 1), y_buffer, 4)
    lrn = LrnParameters(5, 0.1)
    epilogue = Epilogue(Apply("max", (Local("x"), Number(0.0))))
    guarded.run(lrn_step(tx, ty, lrn, epilogue), {x_buffer: x, y_buffer: y}, {"n": 2, "h": 3, "w": 9})
    np.testing.assert_allclose(y[..., 4:24], np.maximum(compute_expected(x[..., 10:], lrn), 0), 3e-6)
    assert (y[..., :4] == 7).all(), "channels before the slice must not be written"
    assert (y[..., 24:] == 7).all(), "channels after the slice must not be written"


@pytest.mark.parametrize("size", [10**8, 2**31, 2**58, 2**62, 2**63 - 1])
@pytest.mark.parametrize("dims", ["2,5,3,4", "N,C,H,W"])
def test_a_size_beyond_the_channels_takes_no_more_memory(size: int, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[{dims}] y) {{ y = LRN <size = {size}, alpha = {size / 8:e}> (x) }}"
    session = sx.Session(parse_model(text), engine="native", limits=sx.RunLimits(bytes=1 << 20))
    x = floats(2, 5, 3, 4)
    result = session.run({"x": x})["y"]
    channels_last = compute_expected(x.transpose(0, 2, 3, 1), LrnParameters(size, size / 8))
    np.testing.assert_allclose(np.asarray(result), channels_last.transpose(0, 3, 1, 2), 1e-5)
    assert session.stats.fallback_nodes == 0
    assert session.stats.bailouts == {}
