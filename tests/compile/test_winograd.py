"""Winograd convolutions, against sums in double precision, at every border and for every width of vectors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.gemm.tile.register_tile import make_tile
from sardonyx._src.compile.kernels.winograd.convolution import TileGrouping, winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import TRANSFORMS, choose_transforms
from sardonyx._src.compile.kernels.winograd.tiles import TileTransforms
from sardonyx._src.compile.kernels.winograd.transforms import F2X3, F4X3, WinogradTransform
from sardonyx._src.compile.kernels.winograd.weight_transform import pack_winograd_weights, transform_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

BOTH = TileTransforms(F4X3, F4X3)
TILE = make_tile(2, host_target())
RELU = Epilogue(Apply("max", (RESULT, Number(0.0))))
CLOSE = 1e-5  # of numbers about 1: some tens of roundings to 24 bits, which the output transform amplifies


def direct_convolution(x: Array, weights: Array, bias: Array, pads: tuple[int, int, int, int]) -> Array:
    """The convolution of x [N, H, W, C] with weights [features, C, 3, 3], in double precision."""
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = max(padded.shape[1] - 2, 0), max(padded.shape[2] - 2, 0)
    total = np.zeros((x.shape[0], height, width, weights.shape[0])) + bias.astype(np.float64)
    for i in range(3):
        for j in range(3):
            window = padded[:, i : i + height, j : j + width]
            total += window @ weights[:, :, i, j].T.astype(np.float64)
    return total


def draw_weights(channels: int, features: int, seed: int = 0) -> tuple[Array, Array]:
    """Weights whose convolution of normal numbers is about 1, and a bias."""
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(features, channels, 3, 3)) / np.sqrt(9 * channels)
    return weights.astype(np.float32), draw.normal(size=features).astype(np.float32)


def draw(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def run_winograd(
    x: Array,
    weights: Array,
    bias: Array,
    pads: tuple[int, int, int, int],
    *,
    transforms: TileTransforms = BOTH,
    epilogue: Epilogue | None = None,
    operands: tuple[Array, ...] = (),
    grouping: TileGrouping | None = None,
    lanes: int | None = None,
) -> Array:
    images, height, width, _ = x.shape
    size = (images, max(height + pads[0] + pads[2] - 2, 0), max(width + pads[1] + pads[3] - 2, 0))
    y = np.full((*size, weights.shape[0]), np.nan, np.float32)
    target = host_target() if lanes is None else replace(host_target(), lanes=lanes)
    packed = pack_winograd_weights(weights, bias, transforms, target)
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    more = [guarded.tensor(operand) for operand in operands]
    steps = winograd_steps(read, packed, written, pads[:2], epilogue, [t for t, _ in more], grouping=grouping)
    memory = {from_x: x, to_y: y, **{s: o for (_, s), o in zip(more, operands, strict=True)}}
    guarded.run(steps, memory)
    return y


def test_results_do_not_depend_on_the_grouping() -> None:
    x, (weights, bias) = draw(2, 17, 31, 40), draw_weights(40, 64)
    first, *others = (
        run_winograd(x, weights, bias, (1, 1, 1, 1), grouping=TileGrouping(group, is_fused))
        for group in (1, 7, 40)
        for is_fused in (True, False)
    )
    assert all(np.array_equal(first, other) for other in others)


def test_the_output_may_alias_the_summand() -> None:
    x, (weights, bias) = draw(1, 6, 6, 20), draw_weights(20, 17)
    before = draw(1, 6, 6, 17, seed=5)
    y = before.copy()
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    epilogue = Epilogue(Apply("add", (RESULT, Local("o0"))), ("matrix",))
    steps = winograd_steps(
        read, pack_winograd_weights(weights, bias, BOTH, host_target()), written, (1, 1), epilogue, [written]
    )
    guarded.run(steps, {from_x: x, to_y: y})
    np.testing.assert_allclose(y, direct_convolution(x, weights, bias, (1, 1, 1, 1)) + before, CLOSE, CLOSE)


def test_input_and_output_may_be_slices() -> None:
    wide, (weights, bias) = draw(2, 8, 9, 20), draw_weights(12, 10)
    y = np.full((2, 5, 6, 26), -7, np.float32)
    (full_x, from_x), (result, to_y) = guarded.tensor(wide), guarded.tensor(y)
    x = TensorView(full_x.dtype, (2, 5, 6, 12), full_x.strides, from_x, (2 * 9 + 1) * 20 + 3)
    y_slice = TensorView(result.dtype, (2, 5, 6, 10), result.strides, to_y, 9)
    guarded.run(
        winograd_steps(x, pack_winograd_weights(weights, bias, BOTH, host_target()), y_slice, (1, 1)),
        {from_x: wide, to_y: y},
    )
    expected = direct_convolution(wide[:, 2:7, 1:7, 3:15], weights, bias, (1, 1, 1, 1))
    np.testing.assert_allclose(y[..., 9:19], expected, CLOSE, CLOSE)
    assert (y[..., :9] == -7).all() and (y[..., 19:] == -7).all()


@pytest.mark.parametrize("channels", [24, 192])
@pytest.mark.parametrize("size", [(1, 4, 4), (3, 7, 10)], ids=str)
def test_sizes_may_be_symbolic(size: tuple[int, int, int], channels: int) -> None:
    n, h, w = (symbol(name) for name in "nhw")
    x, (weights, bias) = draw(*size, channels), draw_weights(channels, 17)
    y = np.zeros((*size, 17), np.float32)
    (read, from_x), (written, to_y) = guarded.tensor(x), guarded.tensor(y)
    read = replace(read, shape=(n, h, w, channels), strides=(h * w * channels, w * channels, channels, 1))
    written = replace(written, shape=(n, h, w, 17), strides=(h * w * 17, w * 17, 17, 1))
    steps = winograd_steps(read, pack_winograd_weights(weights, bias, BOTH, host_target()), written, (1, 1))
    guarded.run(steps, {from_x: x, to_y: y}, dict(zip("nhw", size, strict=True)))
    np.testing.assert_allclose(y, direct_convolution(x, weights, bias, (1, 1, 1, 1)), CLOSE, CLOSE)


def test_after_twelve_layers_the_error_is_a_hundred_thousandth_of_the_largest_result() -> None:
    x = draw(1, 8, 8, 64)
    exact = x.astype(np.float64)
    features = (64, 64, 128, 128, 256, 256, 256, 256, 256, 256, 256, 256)
    for layer, count in enumerate(features):
        weights, bias = draw_weights(x.shape[3], count, layer)
        weights, bias = weights * np.float32(np.sqrt(2)), bias / 8  # keeps the magnitude after max(x, 0)
        x = run_winograd(x, weights, bias, (1, 1, 1, 1), epilogue=RELU)
        exact = np.maximum(direct_convolution(exact, weights, bias, (1, 1, 1, 1)), 0)
    assert np.abs(x - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_tile(number: float) -> None:
    x, (weights, bias) = draw(1, 12, 12, 20), draw_weights(20, 17)
    x[0, 5, 5, 7] = number  # of the tile in the middle alone: rows and columns 4 to 7
    actual = run_winograd(x, weights, bias, (1, 1, 1, 1))
    assert not np.isfinite(actual[0, 4:7, 4:7]).any()
    actual[0, 4:8, 4:8] = 0
    x[0, 5, 5, 7] = 0
    expected = direct_convolution(x, weights, bias, (1, 1, 1, 1))
    expected[0, 4:8, 4:8] = 0
    np.testing.assert_allclose(actual, expected, CLOSE, CLOSE)


@pytest.mark.parametrize("transform", [F2X3, F4X3, WinogradTransform((0.5, 1.0, 2.0))], ids=str)
def test_weights_have_no_constant_term_at_infinity(transform: WinogradTransform) -> None:
    weights = np.zeros((3, 2, 3, 3), np.float32)
    weights[..., 0, 0] = 1
    panels = transform_weights(weights, TileTransforms(transform, transform), TILE).materialize()
    points = panels.reshape(transform.inputs, transform.inputs, 2, TILE.width)[..., :3]
    assert (points[:-1, :-1] != 0).all()
    assert (points[-1] == 0).all() and (points[:, -1] == 0).all(), "at infinity only the highest power counts"


def weight_matrix(transform: WinogradTransform) -> list[list[Fraction]]:
    """G of the paper, in exact numbers: the powers of each point, over the product of its differences to the others."""
    points = [Fraction(p) for p in transform.finite_points]
    divisors = [prod(p - q for q in points if q != p) for p in points]
    rows = [[p**i / divisor for i in range(3)] for p, divisor in zip(points, divisors, strict=True)]
    return [*rows, [Fraction(0), Fraction(0), Fraction(1)]]


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=str)
def test_transformed_weights_are_rounded_once(transforms: TileTransforms) -> None:
    weights = draw_weights(3, TILE.width + 5)[0]
    panels = transform_weights(weights, transforms, TILE).materialize()
    vertical, horizontal = weight_matrix(transforms.vertical), weight_matrix(transforms.horizontal)
    points = panels.reshape(2, len(vertical), len(horizontal), 3, TILE.width)
    for feature in (0, 7, TILE.width, TILE.width + 4):
        panel, column = divmod(feature, TILE.width)
        taps = [[Fraction(float(tap)) for tap in row] for row in weights[feature, 2]]
        for i, left in enumerate(vertical):
            for j, right in enumerate(horizontal):
                exact = sum(left[k] * taps[k][m] * right[m] for k in range(3) for m in range(3))
                assert points[panel, i, j, 2, column] == np.float32(float(exact))
    assert (points[1, ..., 5:] == 0).all(), "columns past the last feature"


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=str)
def test_transformed_weights_are_computed_by_one_sequence_of_operations(transforms: TileTransforms) -> None:
    """At points at which the sums of these taps vanish, what is left is the rounding of each operation in float64."""
    weights = np.random.default_rng(5).integers(-9, 9, (2 * TILE.width, 40, 3, 3)).astype(np.float32)
    for row, column, p in ((0, 0, 1.5), (1, 0, -1.5), (0, 1, 0.625), (1, 1, -0.625), (0, 2, 1.0)):
        taps = weights[row::2, column::3]
        taps[..., 0] = -p * taps[..., 1] - p * p * taps[..., 2]
    panels = transform_weights(weights, transforms, TILE).materialize()

    def transform(transform: WinogradTransform, taps: Array) -> Array:
        values = [taps[0] * (1 / prod(-q for q in transform.finite_points[1:]))]
        for p in transform.point_pairs:
            divisor = prod(p - q for q in transform.finite_points if q != p)
            even, odd = taps[0] * (1 / divisor) + taps[2] * (p * p / divisor), taps[1] * (p / divisor)
            values += [even + odd, even - odd]
        return np.stack([*values, taps[2]])

    columns = transform(transforms.vertical, weights.astype(np.float64).transpose(2, 3, 1, 0))
    points = transform(transforms.horizontal, columns.swapaxes(0, 1)).swapaxes(0, 1)
    expected = points.reshape(transforms.num_points, 40, 2, TILE.width).transpose(2, 0, 1, 3)
    assert np.array_equal(panels, expected.astype(np.float32)), "without fused multiply-adds"


def test_winograd_is_chosen_for_many_tiles_and_channels() -> None:
    assert choose_transforms(1, 56, 56, 64, 64) == BOTH
    assert choose_transforms(1, 7, 7, 512, 512) == TileTransforms(F2X3, F2X3), (
        "large tiles are half empty and read more weights"
    )
    assert choose_transforms(1, 224, 224, 3, 64) is None, "three channels are shorter than a vector"
    assert choose_transforms(1, 1, 1, 64, 64) is None, "one pixel has no redundant products"


def test_images_of_symbolic_size_count_as_large() -> None:
    n, h = symbol("n"), symbol("h")
    assert choose_transforms(1, h, 56, 64, 64) == BOTH
    assert choose_transforms(n, 7, 7, 512, 512) == TileTransforms(F2X3, F2X3)
    assert choose_transforms(n, h, h, 3, 64) is None
