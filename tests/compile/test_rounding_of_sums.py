"""Rounding errors of long sums: kernels sum blocks of terms by themselves, and a row does not depend on the others.

A sum of n positive terms, one after another, is off by about `UNIT` * sqrt(n / 3) of itself: each addition rounds a partial sum, which
grows linearly, by an error that is uniform in half a unit in the last place (Higham, "The Accuracy of Floating Point Summation", 1993).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.kernels.depthwise.weight_gradient import depthwise_weight_gradient_step
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant, pack_tensor
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import few_rows_step, reads_in_place
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Window
from sardonyx._src.ir import Array

UNIT = 2.0**-23 / math.sqrt(12)
FACTOR = 5  # of the expected error: the largest of some hundred sums


def draw(seed: int, *shape: int) -> Array:
    """Positive numbers, so that every partial sum is rounded about as much as it can be."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32)


def chain_error(terms: int) -> float:
    return UNIT * math.sqrt(terms / 3)


def largest_error(terms: int, block: int) -> float:
    """A bound for the relative errors of sums in blocks of at most `block` terms, below that of a single chain."""
    blocks = -(-terms // block)
    limit = FACTOR * math.hypot(chain_error(block) / math.sqrt(blocks), chain_error(blocks), UNIT)
    assert limit < chain_error(terms) / 2, "the sums must be long enough to tell one order from the other"
    return limit


def relative_error(actual: Array, expected: Array) -> float:
    return float(np.max(np.abs(actual / expected - 1)))


def product(a: Array, b: Array, *, is_constant: bool) -> Array:
    y = np.full((len(a), b.shape[1]), np.nan, np.float32)
    (a_view, a_buffer), (b_view, b_buffer), (y_view, y_buffer) = map(guarded.tensor, (a, b, y))
    target = host_target()
    panels, steps = (pack_constant(b, target), []) if is_constant else pack_tensor(b_view, target)
    guarded.run([*steps, *matmul_steps(a_view, panels, y_view)], {a_buffer: a, b_buffer: b, y_buffer: y})
    return y


@pytest.mark.parametrize("rows", [1, 5, 30, 70])
@pytest.mark.parametrize("is_constant", [True, False])
def test_products_sum_blocks_of_k(rows: int, is_constant: bool) -> None:
    a, b = draw(1, rows, 20_000), draw(2, 20_000, 40)
    y = product(a, b, is_constant=is_constant)
    assert relative_error(y, a.astype(np.float64) @ b) < largest_error(20_000, 512)


@pytest.mark.parametrize("is_constant", [True, False])
def test_a_row_of_a_product_does_not_depend_on_the_others(is_constant: bool) -> None:
    """B has 1.3 MB: tiles of few rows read shorter parts of it at a time."""
    a, b = draw(1, 340, 1300), draw(2, 1300, 260)
    y = product(a, b, is_constant=is_constant)
    for first, count in ((0, 1), (3, 2), (11, 7), (50, 29), (100, 60), (200, 130)):
        some = slice(first, first + count)
        np.testing.assert_array_equal(product(a[some], b, is_constant=is_constant), y[some])


def test_products_of_few_rows_are_those_with_a_packed_matrix() -> None:
    a, b, y = draw(1, 9, 20_000), draw(2, 20_000, 128), np.full((9, 128), np.nan, np.float32)
    (a_view, a_buffer), (b_view, b_buffer), (y_view, y_buffer) = map(guarded.tensor, (a, b, y))
    assert reads_in_place(a_view, b_view, host_target())
    step = few_rows_step(a_view, b_view, y_view, host_target())
    guarded.run([step], {a_buffer: a, b_buffer: b, y_buffer: y})
    assert relative_error(y, a.astype(np.float64) @ b) < largest_error(20_000, 512)
    np.testing.assert_array_equal(y, product(a, b, is_constant=False))


@pytest.mark.parametrize(("channels", "kernel"), [(3000, 3), (24_000, 1)])
def test_convolutions_sum_blocks_of_their_windows(channels: int, kernel: int) -> None:
    x, weights = draw(1, 1, 4, 5, channels), draw(2, 20, channels, kernel, kernel)
    size = 5 - kernel
    y = np.full((1, size, size + 1, 20), np.nan, np.float32)
    window = Window((kernel, kernel))
    (x_view, x_buffer), (y_view, y_buffer) = guarded.tensor(x), guarded.tensor(y)
    packed = pack_conv_weights(weights, np.ones(20, np.float32), window, host_target())
    guarded.run([convolution_step(x_view, packed, y_view)], {x_buffer: x, y_buffer: y})
    expected = np.ones(y.shape)
    for i, j in np.ndindex(kernel, kernel):
        expected += x[:, i : i + size, j : j + size + 1].astype(np.float64) @ weights[:, :, i, j].T
    assert relative_error(y, expected) < largest_error(channels * kernel * kernel, 1024)


@pytest.mark.parametrize(("shape", "block"), [((2, 128, 128), 128), ((80, 20, 20), 120), ((20, 8, 200), 128)])
def test_gradients_by_weights_sum_blocks_of_pixels(shape: tuple[int, int, int], block: int) -> None:
    """Blocks are whole lines, or parts of one."""
    x, dy = draw(1, *shape, 7), draw(2, *shape, 20)
    dw = np.full((20, 7, 1, 1), np.nan, np.float32)
    (x_view, x_buffer), (dy_view, dy_buffer), (dw_view, dw_buffer) = map(guarded.tensor, (x, dy, dw))
    steps = weight_gradient_steps(x_view, dy_view, dw_view, Window(), host_target())
    guarded.run(steps, {x_buffer: x, dy_buffer: dy, dw_buffer: dw})
    expected = np.einsum("nhwc,nhwm->mc", x.astype(np.float64), dy)
    assert relative_error(dw[:, :, 0, 0], expected) < largest_error(math.prod(shape), block)


def test_depthwise_gradients_by_weights_sum_lines() -> None:
    x, dy, dw = draw(1, 2, 128, 128, 20), draw(2, 2, 128, 128, 20), np.full((20, 1, 1, 1), np.nan, np.float32)
    (x_view, x_buffer), (dy_view, dy_buffer), (dw_view, dw_buffer) = map(guarded.tensor, (x, dy, dw))
    step = depthwise_weight_gradient_step(x_view, dy_view, dw_view, Window())
    guarded.run([step], {x_buffer: x, dy_buffer: dy, dw_buffer: dw})
    expected = np.einsum("nhwc,nhwc->c", x.astype(np.float64), dy)
    assert relative_error(dw[:, 0, 0, 0], expected) < largest_error(2 * 128 * 128, 128)
