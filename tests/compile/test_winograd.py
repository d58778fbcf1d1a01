"""Winograd's convolutions beside sums in double precision, at every border and for every width of vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.loops.ir import Apply, Local, Number
from sardonyx._src.compile.products.winograd import Split, winograd
from sardonyx._src.compile.products.winograd_cost import forms_for, pays
from sardonyx._src.compile.products.winograd_form import FOUR, TWO, Form
from sardonyx._src.compile.products.winograd_tiles import Forms
from sardonyx._src.compile.products.winograd_weights import winograd_weights
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.tensors import Array

BOTH = Forms(FOUR, FOUR)
RELU = Tail(Apply("max", (RESULT, Number(0.0))))
CLOSE = 1e-5  # of numbers about 1: rounded some tens of times to 24 bits, and what the way back makes larger
SPLITS = [Split(4, whole=True), Split(4, whole=False)]
SHAPES = [  # images, height, width, channels, features, (top, left, bottom, right)
    (1, 8, 8, 20, 64, (1, 1, 1, 1)),
    (2, 7, 9, 5, 3, (1, 1, 1, 1)),
    (1, 3, 3, 1, 1, (0, 0, 0, 0)),
    (1, 1, 1, 16, 128, (1, 1, 1, 1)),
    (3, 5, 1, 33, 17, (2, 2, 2, 2)),
    (1, 13, 11, 20, 17, (0, 2, 1, 0)),
    (1, 4, 30, 5, 14, (2, 0, 0, 1)),
    (0, 4, 4, 5, 3, (1, 1, 1, 1)),
    (1, 2, 6, 5, 3, (0, 0, 0, 0)),
    (1, 0, 0, 5, 3, (2, 2, 2, 2)),
]


def direct(x: Array, weights: Array, bias: Array, pads: tuple[int, int, int, int]) -> Array:
    """The convolution of x [N, H, W, C] by [features, C, 3, 3], in double precision."""
    top, left, bottom, right = pads
    framed = np.pad(x.astype(np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = max(framed.shape[1] - 2, 0), max(framed.shape[2] - 2, 0)
    total = np.zeros((x.shape[0], height, width, weights.shape[0])) + bias.astype(np.float64)
    for i in range(3):
        for j in range(3):
            part = framed[:, i : i + height, j : j + width]
            total += part @ weights[:, :, i, j].T.astype(np.float64)
    return total


def drawn(channels: int, features: int, seed: int = 0) -> tuple[Array, Array]:
    """Weights whose convolution of normal numbers has numbers about 1, and a bias."""
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(features, channels, 3, 3)) / np.sqrt(9 * channels)
    return weights.astype(np.float32), draw.normal(size=features).astype(np.float32)


def normal(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def convolved(
    x: Array,
    weights: Array,
    bias: Array,
    pads: tuple[int, int, int, int],
    *,
    forms: Forms = BOTH,
    tail: Tail | None = None,
    operands: tuple[Array, ...] = (),
    split: Split | None = None,
    lanes: int | None = None,
) -> Array:
    images, height, width, _ = x.shape
    size = (images, max(height + pads[0] + pads[2] - 2, 0), max(width + pads[1] + pads[3] - 2, 0))
    y = np.full((*size, weights.shape[0]), np.nan, np.float32)
    target = host() if lanes is None else replace(host(), lanes=lanes)
    packed = winograd_weights(weights, bias, forms, target)
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    more = [guarded.tensor(operand) for operand in operands]
    steps = winograd(read, packed, written, pads[:2], tail, [t for t, _ in more], split=split)
    memory = {from_x: x, to_y: y, **{s: o for (_, s), o in zip(more, operands, strict=True)}}
    guarded.run(steps, memory)
    return y


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_the_convolution_at_every_border(
    shape: tuple[int, int, int, int, int, tuple[int, int, int, int]], split: Split
) -> None:
    images, height, width, channels, features, pads = shape
    x, (weights, bias) = normal(images, height, width, channels), drawn(channels, features)
    found = convolved(x, weights, bias, pads, split=split)
    np.testing.assert_allclose(found, direct(x, weights, bias, pads), CLOSE, CLOSE)


@pytest.mark.parametrize("forms", [Forms(TWO, TWO), Forms(FOUR, TWO), Forms(TWO, FOUR)], ids=str)
def test_either_axis_has_a_form_of_its_own(forms: Forms) -> None:
    x, (weights, bias) = normal(1, 7, 10, 20), drawn(20, 17)
    found = convolved(x, weights, bias, (1, 1, 1, 1), forms=forms)
    np.testing.assert_allclose(found, direct(x, weights, bias, (1, 1, 1, 1)), CLOSE, CLOSE)


@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
def test_vectors_have_any_width(lanes: int) -> None:
    x, (weights, bias) = normal(1, 9, 6, 11), drawn(11, 21)
    found = convolved(x, weights, bias, (1, 1, 1, 1), lanes=lanes)
    np.testing.assert_allclose(found, direct(x, weights, bias, (1, 1, 1, 1)), CLOSE, CLOSE)


def test_how_tiles_are_split_does_not_change_a_bit() -> None:
    x, (weights, bias) = normal(2, 17, 15, 40), drawn(40, 64)
    one, *others = (
        convolved(x, weights, bias, (1, 1, 1, 1), split=Split(group, whole))
        for group in (1, 7, 40)
        for whole in (True, False)
    )
    assert all(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("features", [17, 64])
def test_a_tail_takes_numbers_columns_and_matrices(features: int, split: Split) -> None:
    x, (weights, bias) = normal(2, 6, 7, 20), drawn(20, features)
    scale, column, matrix = normal(1, seed=2), normal(features, seed=3), normal(2, 6, 7, features, seed=4)
    scaled = Apply("mul", (RESULT, Local("o0")))
    value = Apply("max", (Apply("add", (Apply("add", (scaled, Local("o1"))), Local("o2"))), Number(0.0)))
    tail = Tail(value, ("scalar", "column", "matrix"))
    found = convolved(
        x, weights, bias, (1, 1, 1, 1), tail=tail, operands=(scale, column, matrix), split=split
    )
    expected = direct(x, weights, bias, (1, 1, 1, 1)) * scale.astype(np.float64) + column + matrix
    np.testing.assert_allclose(found, np.maximum(expected, 0), CLOSE, CLOSE)


def test_the_result_may_take_the_place_of_what_is_added_to_it() -> None:
    x, (weights, bias) = normal(1, 6, 6, 20), drawn(20, 17)
    before = normal(1, 6, 6, 17, seed=5)
    y = before.copy()
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    tail = Tail(Apply("add", (RESULT, Local("o0"))), ("matrix",))
    steps = winograd(read, winograd_weights(weights, bias, BOTH, host()), written, (1, 1), tail, [written])
    guarded.run(steps, {from_x: x, to_y: y})
    np.testing.assert_allclose(y, direct(x, weights, bias, (1, 1, 1, 1)) + before, CLOSE, CLOSE)


def test_views_are_read_and_nothing_beside_them_is_written() -> None:
    wide, (weights, bias) = normal(2, 8, 9, 20), drawn(12, 10)
    y = np.full((2, 5, 6, 26), -7, np.float32)
    (whole, from_x), (result, to_y) = guarded.tensor(wide), guarded.tensor(y)
    x = Tensor(whole.dtype, (2, 5, 6, 12), whole.strides, from_x, (2 * 9 + 1) * 20 + 3)
    part = Tensor(result.dtype, (2, 5, 6, 10), result.strides, to_y, 9)
    guarded.run(
        winograd(x, winograd_weights(weights, bias, BOTH, host()), part, (1, 1)), {from_x: wide, to_y: y}
    )
    expected = direct(wide[:, 2:7, 1:7, 3:15], weights, bias, (1, 1, 1, 1))
    np.testing.assert_allclose(y[..., 9:19], expected, CLOSE, CLOSE)
    assert (y[..., :9] == -7).all() and (y[..., 19:] == -7).all()


@pytest.mark.parametrize("channels", [24, 192])
@pytest.mark.parametrize("size", [(1, 4, 4), (3, 7, 10)], ids=str)
def test_sizes_may_be_known_when_it_runs(size: tuple[int, int, int], channels: int) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, (weights, bias) = normal(*size, channels), drawn(channels, 17)
    y = np.zeros((*size, 17), np.float32)
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    read = replace(read, shape=(n, h, w, channels), strides=(h * w * channels, w * channels, channels, 1))
    written = replace(written, shape=(n, h, w, 17), strides=(h * w * 17, w * 17, 17, 1))
    steps = winograd(read, winograd_weights(weights, bias, BOTH, host()), written, (1, 1))
    guarded.run(steps, {from_x: x, to_y: y}, dict(zip("nhw", size, strict=True)))
    np.testing.assert_allclose(y, direct(x, weights, bias, (1, 1, 1, 1)), CLOSE, CLOSE)


def test_after_twelve_layers_the_error_is_a_hundred_thousandth_of_the_largest_result() -> None:
    x = normal(1, 8, 8, 64)
    exact = x.astype(np.float64)
    features = (64, 64, 128, 128, 256, 256, 256, 256, 256, 256, 256, 256)
    for layer, count in enumerate(features):
        weights, bias = drawn(x.shape[3], count, layer)
        weights, bias = weights * np.float32(np.sqrt(2)), bias / 8  # what keeps its size behind max(x, 0)
        x = convolved(x, weights, bias, (1, 1, 1, 1), tail=RELU)
        exact = np.maximum(direct(exact, weights, bias, (1, 1, 1, 1)), 0)
    assert np.abs(x - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_finite_number_reaches_its_windows_and_no_other_tile(number: float) -> None:
    x, (weights, bias) = normal(1, 12, 12, 20), drawn(20, 17)
    x[0, 5, 5, 7] = number  # of the tile in the middle alone: rows and columns 4 to 7
    found = convolved(x, weights, bias, (1, 1, 1, 1))
    assert not np.isfinite(found[0, 4:7, 4:7]).any()
    found[0, 4:8, 4:8] = 0
    x[0, 5, 5, 7] = 0
    expected = direct(x, weights, bias, (1, 1, 1, 1))
    expected[0, 4:8, 4:8] = 0
    np.testing.assert_allclose(found, expected, CLOSE, CLOSE)


@pytest.mark.parametrize("form", [TWO, FOUR, Form((0.5, 1.0, 2.0))], ids=str)
def test_divisors_of_interpolation_are_with_the_weights(form: Form) -> None:
    constant = form.weights() @ np.array([1.0, 0.0, 0.0])
    assert constant.shape == (form.inputs,)
    assert constant[-1] == 0, "at infinity a number is worth nothing beside the highest power"


def test_it_pays_where_tiles_and_channels_are_many() -> None:
    assert forms_for(1, 56, 56, 64, 64) == BOTH
    assert forms_for(1, 7, 7, 512, 512) == Forms(TWO, TWO), "large tiles are half empty and have more weights"
    assert not pays(1, 224, 224, 3, 64), "three channels are no vector"
    assert not pays(1, 1, 1, 64, 64), "one pixel takes no products that tiles could spare"


def test_images_of_unknown_size_are_taken_for_large() -> None:
    n, h = symbol("n"), symbol("h")
    assert forms_for(1, h, 56, 64, 64) == BOTH
    assert forms_for(n, 7, 7, 512, 512) == Forms(TWO, TWO)
    assert not pays(n, h, h, 3, 64)
