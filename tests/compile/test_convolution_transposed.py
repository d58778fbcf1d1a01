"""Transposed convolutions against sums of products scattered in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply, Local
from sardonyx._src.compile.products.transposed import packed_transposed, transposed_convolution
from sardonyx._src.compile.products.weights import Window
from sardonyx._src.compile.tail import Tail
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

X = Local("x")


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def expected(
    x: Array, weights: Array, bias: Array, window: Window, groups: int, size: tuple[int, int]
) -> Array:
    """What each pixel of [N, H, W, C] adds to results of that height and width, in float64."""
    images, height, width, channels = x.shape
    columns = weights.shape[1]
    y = np.zeros((images, *size, groups * columns)) + bias
    part = channels // groups
    for g, iy, ix, ky, kx in np.ndindex(groups, height, width, *window.kernel):
        oy = iy * window.strides[0] - window.pads[0] + ky * window.dilations[0]
        ox = ix * window.strides[1] - window.pads[1] + kx * window.dilations[1]
        if 0 <= oy < size[0] and 0 <= ox < size[1]:
            inside = slice(g * part, (g + 1) * part)
            taps = weights[inside, :, ky, kx].astype(np.float64)
            y[:, oy, ox, g * columns : (g + 1) * columns] += x[:, iy, ix, inside] @ taps
    return y


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(
    ("window", "size"),
    [
        (Window((2, 2), (2, 2)), (8, 10)),
        (Window((4, 4), (2, 2), pads=(1, 1)), (8, 10)),
        (Window((3, 3), (2, 3), pads=(1, 0)), (8, 15)),
        (Window((3, 3), pads=(1, 1)), (4, 5)),
        (Window((3, 2), (2, 4), (2, 3), pads=(0, 1)), (11, 19)),
        (Window((3, 3), (1, 2), (3, 2), pads=(2, 2)), (6, 9)),
        (Window((1, 1), (3, 2)), (12, 11)),
    ],
    ids=str,
)
def test_phases_of_any_strides_and_dilations(window: Window, size: tuple[int, int], groups: int) -> None:
    x, weights, bias = normal(1, 2, 4, 5, 12), normal(2, 12, 7, *window.kernel), normal(3, 7 * groups)
    y = np.full((2, *size, 7 * groups), np.nan, np.float32)
    (given, source), (result, sink) = guarded.tensor(x), guarded.tensor(y)
    phases = packed_transposed(weights, bias, window, host(), groups)
    guarded.run(transposed_convolution(given, phases, result), {source: x, sink: y})
    np.testing.assert_allclose(
        y, expected(x, weights, bias, window, groups, size), 0, 1e-5
    )  # 2^-24 of sums near 30


def test_a_tail_takes_pixels_beside_the_result_at_any_size() -> None:
    window, tail = Window((4, 4), (2, 2), pads=(1, 1)), Tail(Apply("add", (X, Local("o0"))), ("matrix",))
    x, weights, more = normal(1, 2, 5, 4, 9), normal(2, 9, 20, 4, 4), normal(4, 2, 10, 8, 20)
    y = np.zeros((2, 10, 8, 20), np.float32)
    (given, source), (result, sink), (beside, other) = (guarded.tensor(a) for a in (x, y, more))
    h, w = symbol("H"), symbol("W")
    given = replace(given, shape=(2, h, w, 9), strides=(h * w * 9, w * 9, 9, 1))
    strides = (h * w * 80, w * 40, 20, 1)
    result, beside = (replace(t, shape=(2, h * 2, w * 2, 20), strides=strides) for t in (result, beside))
    phases = packed_transposed(weights, None, window, host())
    steps = transposed_convolution(given, phases, result, tail, [beside])
    guarded.run(steps, {source: x, sink: y, other: more}, {"H": 5, "W": 4})
    wanted = expected(x, weights, np.zeros(20, np.float32), window, 1, (10, 8)) + more
    np.testing.assert_allclose(y, wanted, 0, 1e-5)  # 2^-24 of sums near 30


def test_narrow_groups_have_phases() -> None:
    window = Window((4, 4), (2, 2), pads=(1, 1))
    x, weights, bias = normal(1, 1, 4, 5, 32), normal(2, 32, 4, 4, 4), normal(3, 32)
    y = np.full((1, 8, 10, 32), np.nan, np.float32)
    (given, source), (result, sink) = guarded.tensor(x), guarded.tensor(y)
    phases = packed_transposed(weights, bias, window, host(), 8)
    guarded.run(transposed_convolution(given, phases, result), {source: x, sink: y})
    np.testing.assert_allclose(
        y, expected(x, weights, bias, window, 8, (8, 10)), 0, 1e-5
    )  # 2^-24 of sums near 30


@pytest.mark.parametrize("shape", [(0, 4, 4, 3), (1, 0, 4, 3), (2, 1, 1, 3)], ids=str)
def test_images_of_nothing(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), (2, 2))
    x, weights, bias = normal(1, *shape), normal(2, 3, 5, 3, 3), normal(3, 5)
    y = np.full((shape[0], 3, 9, 5), np.nan, np.float32)
    (given, source), (result, sink) = guarded.tensor(x), guarded.tensor(y)
    phases = packed_transposed(weights, bias, window, host())
    guarded.run(transposed_convolution(given, phases, result), {source: x, sink: y})
    np.testing.assert_allclose(
        y, expected(x, weights, bias, window, 1, (3, 9)), 0, 1e-5
    )  # a sum of some terms
