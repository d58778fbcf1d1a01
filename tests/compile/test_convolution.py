"""Convolutions of channels-last images against sums of shifted products in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, Local, Number, Select
from sardonyx._src.compile.products.convolution import convolution
from sardonyx._src.compile.products.weights import Window, packed_weights
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.dims import ceil_div, symbol
from sardonyx._src.ir.tensors import Array

X = Local("x")
RELU = Tail(Select("lt", X, Number(0.0), Number(0.0), X))
SHAPES = [(8, 16), (4, 32), (1, 16)]  # lanes and registers of other processors
TARGETS = [host(), *(replace(host(), lanes=lanes, registers=registers) for lanes, registers in SHAPES)]
ROUNDING = 1e-6  # of the largest result: sums of some hundred terms, each within 2^-24 of the sum


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def expected(
    x: Array, weights: Array, bias: Array, window: Window, groups: int, size: tuple[int, int]
) -> Array:
    """The convolution of [N, H, W, C] with results of that height and width, in float64."""
    columns, channels, *_ = weights.shape
    (sy, sx), (dy, dx), (top, left) = window.strides, window.dilations, window.pads
    behind = [
        max(0, n * s + d * k) for n, s, d, k in zip(size, (sy, sx), (dy, dx), window.kernel, strict=True)
    ]
    framed = np.pad(x.astype(np.float64), ((0, 0), (top, behind[0]), (left, behind[1]), (0, 0)))
    y = np.zeros((x.shape[0], *size, columns)) + bias
    part = columns // groups
    for g in range(groups):
        inside = framed[..., g * channels : (g + 1) * channels]
        for i, j in np.ndindex(*window.kernel):
            lines = slice(i * dy, i * dy + size[0] * sy, sy)
            pixels = slice(j * dx, j * dx + size[1] * sx, sx)
            taps = weights[g * part : (g + 1) * part, :, i, j].T.astype(np.float64)
            with np.errstate(invalid="ignore"):
                y[..., g * part : (g + 1) * part] += inside[:, lines, pixels] @ taps
    return y


def convolved(
    x: Array,
    weights: Array,
    window: Window,
    *,
    size: tuple[int, int],
    groups: int = 1,
    target: Target | None = None,
) -> tuple[Array, Array]:
    """What the kernel makes of an image with a bias, and what it should."""
    target = target or host()
    bias = normal(5, len(weights))
    y = np.full((len(x), *size, len(weights)), np.nan, np.float32)
    given, source = guarded.tensor(x)
    result, sink = guarded.tensor(y)
    step = convolution(given, packed_weights(weights, bias, window, target, groups), result)
    run_for(step, {source: x, sink: y}, target)
    return y, expected(x, weights, bias, window, groups, size)


def run_for(
    step: Step, memory: dict[Storage, Array], target: Target, sizes: dict[str, int] | None = None
) -> None:
    """Runs a step as if it were compiled on a processor with other registers."""
    kernel = step.kernel
    as_target = replace(
        kernel, key=f"{kernel.key}@{target.lanes}", source=lambda name, _: kernel.source(name, target)
    )
    guarded.run(replace(step, kernel=as_target), memory, sizes)


def check(y: Array, wanted: Array, rounding: float = ROUNDING) -> None:
    np.testing.assert_allclose(y, wanted, 0, rounding * max(1.0, np.abs(wanted).max(initial=0)))


WINDOWS = [
    Window(),
    Window((3, 3), pads=(1, 1)),
    Window((3, 2), (2, 1), (1, 2), (1, 0)),
    Window((1, 1), (2, 2)),
    Window((1, 5), pads=(0, 4)),
    Window((5, 1), (1, 3), (2, 1), (9, 0)),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.lanes} lanes")
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_of_any_kind(window: Window, target: Target) -> None:
    size = (7, 9) if window.is_pixel else (6, 5)
    weights = normal(2, 37, 11, *window.kernel)
    y, wanted = convolved(normal(1, 2, 7, 9, 11), weights, window, size=size, target=target)
    check(y, wanted)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.lanes} lanes")
@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize(
    "window", [Window((7, 7), (2, 2), pads=(3, 3)), Window((2, 3), (1, 2), (3, 1), (1, 0))], ids=str
)
def test_few_channels_are_copied_in_bands(window: Window, channels: int, target: Target) -> None:
    weights = normal(2, 20, channels, *window.kernel)
    y, wanted = convolved(normal(1, 2, 9, 23, channels), weights, window, size=(7, 12), target=target)
    check(y, wanted)


@pytest.mark.parametrize("columns", [1, 7, 16, 17, 31, 40, 64, 70, 130])
@pytest.mark.parametrize("pixels", [1, 2, 5, 13, 49, 100])
def test_rows_and_columns_of_any_number(pixels: int, columns: int) -> None:
    y, wanted = convolved(
        normal(1, 1, 1, pixels, 12), normal(2, columns, 12, 1, 1), Window(), size=(1, pixels)
    )
    check(y, wanted)
    window = Window((1, 3), pads=(0, 1))
    y, wanted = convolved(normal(1, 1, 1, pixels, 12), normal(2, columns, 12, 1, 3), window, size=(1, pixels))
    check(y, wanted)


@pytest.mark.parametrize(
    ("window", "channels"), [(Window(), 2100), (Window((3, 3), pads=(1, 1)), 300), (Window((2, 1)), 1030)]
)
def test_long_sums_are_made_in_parts(window: Window, channels: int) -> None:
    weights = normal(2, 33, channels, *window.kernel)
    y, wanted = convolved(normal(1, 1, 5, 6, channels), weights, window, size=(4, 6))
    check(y, wanted, 5e-6)  # some thousand terms


@pytest.mark.parametrize("groups", [2, 3, 12])
@pytest.mark.parametrize("window", [Window(), Window((3, 3), (2, 2), pads=(1, 1))], ids=str)
def test_groups_of_channels_do_not_meet(window: Window, groups: int) -> None:
    weights = normal(2, groups * 5, 24 // groups, *window.kernel)
    size = (7, 6) if window.strides == (1, 1) else (4, 3)
    y, wanted = convolved(normal(1, 2, 7, 6, 24), weights, window, size=size, groups=groups)
    check(y, wanted)


@pytest.mark.parametrize(
    "shape", [(0, 5, 5, 9), (1, 0, 5, 9), (1, 5, 0, 9), (1, 5, 5, 0), (2, 1, 1, 9)], ids=str
)
def test_sizes_of_nothing(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), pads=(1, 1))
    y, wanted = convolved(normal(1, *shape), normal(2, 6, shape[3], 3, 3), window, size=(shape[1], shape[2]))
    check(y, wanted)


@pytest.mark.parametrize("shape", [(0, 5, 5, 3), (1, 0, 5, 3), (1, 5, 0, 3), (1, 1, 1, 3)], ids=str)
def test_bands_of_nothing(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), pads=(1, 1))
    y, wanted = convolved(normal(1, *shape), normal(2, 6, 3, 3, 3), window, size=(shape[1], shape[2]))
    check(y, wanted)
    y, wanted = convolved(normal(1, *shape), normal(2, 6, 3, 3, 3), window, size=(0, 0))
    check(y, wanted)


def test_a_window_of_padding_is_the_bias() -> None:
    window = Window((1, 1), (4, 4), pads=(2, 2))
    y, wanted = convolved(normal(1, 1, 1, 1, 9), normal(2, 6, 9, 1, 1), window, size=(2, 2))
    check(y, wanted)
    np.testing.assert_array_equal(y[0, 1, 1], normal(5, 6))


def test_padding_is_zeros_beside_infinite_pixels_and_nan_stays_where_it_is_seen() -> None:
    x = np.zeros((1, 4, 4, 9), np.float32)
    x[0, 0, 0, 0], x[0, 3, 3, 1] = np.inf, np.nan
    y, _ = convolved(x, np.ones((20, 9, 3, 3), np.float32), Window((3, 3), pads=(1, 1)), size=(4, 4))
    seen_nan, seen_inf = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    seen_nan[2:, 2:] = seen_inf[:2, :2] = True
    np.testing.assert_array_equal(np.isnan(y[0]).all(-1), seen_nan)
    np.testing.assert_array_equal(np.isnan(y[0]).any(-1), seen_nan)
    np.testing.assert_array_equal(np.isposinf(y[0]).all(-1), seen_inf)


def test_a_first_layer_reads_channels_first() -> None:
    x, weights, window = normal(1, 2, 3, 21, 18), normal(2, 20, 3, 3, 3), Window((3, 3), (2, 2), pads=(1, 1))
    y = np.zeros((2, 11, 9, 20), np.float32)
    given, source = guarded.tensor(x)
    result, sink = guarded.tensor(y)
    packed = packed_weights(weights, None, window, host())
    guarded.run(convolution(given.permuted((0, 2, 3, 1)), packed, result), {source: x, sink: y})
    wanted = expected(x.transpose(0, 2, 3, 1), weights, np.zeros(20, np.float32), window, 1, (11, 9))
    check(y, wanted)


@pytest.mark.parametrize("window", [Window(), Window((3, 3), pads=(1, 1))], ids=str)
@pytest.mark.parametrize("columns", [64, 24])
@pytest.mark.parametrize("function", ["max", "erf"])
def test_a_tail_takes_numbers_columns_and_matrices(window: Window, columns: int, function: str) -> None:
    """tail = f(x * o0 + o1 + o2), written into the middle of wider pixels."""
    sum_ = Apply("add", (Apply("add", (Apply("mul", (X, Local("o0"))), Local("o1"))), Local("o2")))
    value = Apply("max", (sum_, Number(0.0))) if function == "max" else Apply("erf", (sum_,))
    tail = Tail(value, ("scalar", "column", "matrix"))
    x, weights, bias = normal(1, 1, 5, 5, 9), normal(2, columns, 9, *window.kernel), normal(3, columns)
    factor, column, matrix = normal(4, 1), normal(5, columns), normal(6, 1, 5, 5, columns)
    frame = np.full((1, 5, 5, columns + 5), 7, np.float32)
    arrays = [x, factor, column, matrix, frame]
    tensors, storages = zip(*(guarded.tensor(array) for array in arrays), strict=True)
    y = Tensor(tensors[4].dtype, (1, 5, 5, columns), tensors[4].strides, storages[4], 3)
    step = convolution(tensors[0], packed_weights(weights, bias, window, host()), y, tail, tensors[1:4])
    guarded.run(step, dict(zip(storages, arrays, strict=True)))
    before = expected(x, weights, bias, window, 1, (5, 5)) * factor + column + matrix
    wanted = np.maximum(before, 0) if function == "max" else np.vectorize(erf)(before)
    check(frame[..., 3:-2], wanted, 1e-5)  # the function adds its own rounding
    assert (frame[..., :3] == 7).all() and (frame[..., -2:] == 7).all(), "a neighbour's pixel is written"


def erf(value: float) -> float:
    from math import erf

    return erf(value)


@pytest.mark.parametrize(
    ("window", "channels"),
    [(Window(), 12), (Window((3, 3), (2, 2), pads=(1, 1)), 12), (Window((3, 3), (2, 2), pads=(1, 1)), 3)],
)
def test_sizes_may_be_known_when_it_runs(window: Window, channels: int) -> None:
    n, h, w = symbol("N"), symbol("H"), symbol("W")
    ho, wo = ((ceil_div(size, s)) for size, s in zip((h, w), window.strides, strict=True))
    x, weights = normal(1, 2, 9, 13, channels), normal(2, 40, channels, *window.kernel)
    y = np.zeros((2, 9, 13, 40) if window.strides == (1, 1) else (2, 5, 7, 40), np.float32)
    (given, source), (result, sink) = guarded.tensor(x), guarded.tensor(y)
    given = replace(given, shape=(n, h, w, channels), strides=(h * w * channels, w * channels, channels, 1))
    result = replace(result, shape=(n, ho, wo, 40), strides=(ho * wo * 40, wo * 40, 40, 1))
    step = convolution(given, packed_weights(weights, None, window, host()), result, RELU)
    guarded.run(step, {source: x, sink: y}, {"N": 2, "H": 9, "W": 13})
    wanted = expected(x, weights, np.zeros(40, np.float32), window, 1, (y.shape[1], y.shape[2]))
    check(y, np.maximum(wanted, 0))


@pytest.mark.parametrize("target", TARGETS[:3], ids=lambda target: f"{target.lanes} lanes")
@pytest.mark.parametrize("narrow", [2, 4, 8])
def test_narrow_groups_share_a_vector(narrow: int, target: Target) -> None:
    window = Window((3, 3), (2, 1), (1, 2), (1, 2))
    x, weights = normal(1, 2, 7, 20, 48), normal(2, 48, narrow, 3, 3)
    y, wanted = convolved(x, weights, window, size=(4, 20), groups=48 // narrow, target=target)
    check(y, wanted)


@pytest.mark.parametrize("target", TARGETS[:3], ids=lambda target: f"{target.lanes} lanes")
def test_narrow_groups_may_fill_one_vector_alone(target: Target) -> None:
    weights, window = normal(2, target.lanes, 2, 1, 3), Window((1, 3), pads=(0, 1))
    x = normal(1, 1, 2, 20, target.lanes)
    y, wanted = convolved(x, weights, window, size=(2, 20), groups=target.lanes // 2, target=target)
    check(y, wanted)


def test_a_narrow_group_keeps_its_infinities() -> None:
    x, weights = normal(1, 1, 3, 3, 32), normal(2, 32, 4, 3, 3)
    x[..., 5] = np.inf
    y, _ = convolved(x, weights, Window((3, 3), pads=(1, 1)), size=(3, 3), groups=8)
    assert np.isfinite(y[..., [*range(4), *range(8, 32)]]).all()
    assert not np.isfinite(y[..., 4:8]).any()


@pytest.mark.parametrize("pixel", [4, 5])
def test_bands_of_images_of_any_strides(pixel: int) -> None:
    """Three channels of a dense image, and of one whose pixels are wider."""
    x, weights, window = (
        normal(1, 2, 9, 20, pixel),
        normal(2, 20, 3, 3, 3),
        Window((3, 3), (2, 1), pads=(1, 1)),
    )
    y = np.zeros((2, 5, 20, 20), np.float32)
    (given, source), (result, sink) = guarded.tensor(x), guarded.tensor(y)
    given = replace(given, shape=(2, 9, 20, 3), offset=1)
    step = convolution(given, packed_weights(weights, None, window, host()), result)
    guarded.run(step, {source: x, sink: y})
    check(y, expected(x[..., 1:4], weights, np.zeros(20, np.float32), window, 1, (5, 20)))


@pytest.mark.parametrize(("rows", "columns"), [(22, 32), (26, 16), (22, 64)])
def test_blocks_of_one_row_less_keep_their_partial_sums_apart(rows: int, columns: int) -> None:
    x, weights = normal(8, 1, 1, rows, 2200), normal(9, columns, 2200, 1, 1)
    y, wanted = convolved(x, weights, Window(), size=(1, rows))
    np.testing.assert_allclose(y, wanted, atol=ROUNDING * 4 * np.abs(wanted).max())  # of 2,200 terms
