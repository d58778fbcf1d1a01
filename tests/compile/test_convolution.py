"""Direct convolutions of channels-last images, against sums of shifted products in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number, Select
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Step, TensorView, Window
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import ceil_div, symbol

X = Local("x")
RELU = Epilogue(Select("lt", X, Number(0.0), Number(0.0), X))
ROUNDING = 1e-6  # of the largest result: sums of some hundred terms, each within 2^-24 of the sum


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def reference_convolution(
    x: Array, weights: Array, bias: Array, window: Window, groups: int, size: tuple[int, int]
) -> Array:
    """The convolution of x [N, H, W, C] with an output of height and width `size`, in float64."""
    columns, channels, *_ = weights.shape
    (sy, sx), (dy, dx), (top, left) = window.strides, window.dilations, window.begin_pads
    assert isinstance(top, int) and isinstance(left, int)
    end_pads = [
        max(0, n * s + d * k) for n, s, d, k in zip(size, (sy, sx), (dy, dx), window.kernel, strict=True)
    ]
    padded = np.pad(x.astype(np.float64), ((0, 0), (top, end_pads[0]), (left, end_pads[1]), (0, 0)))
    y = np.zeros((x.shape[0], *size, columns)) + bias
    group_columns = columns // groups
    for g in range(groups):
        group_input = padded[..., g * channels : (g + 1) * channels]
        for i, j in np.ndindex(*window.kernel):
            lines = slice(i * dy, i * dy + size[0] * sy, sy)
            pixels = slice(j * dx, j * dx + size[1] * sx, sx)
            taps = weights[g * group_columns : (g + 1) * group_columns, :, i, j].T.astype(np.float64)
            with np.errstate(invalid="ignore"):
                y[..., g * group_columns : (g + 1) * group_columns] += group_input[:, lines, pixels] @ taps
    return y


def run_convolution(
    x: Array,
    weights: Array,
    window: Window,
    *,
    size: tuple[int, int],
    groups: int = 1,
    target: Target | None = None,
) -> tuple[Array, Array]:
    """The output of the kernel, with a bias, and the expected output."""
    target = target or host_target()
    bias = draw(5, len(weights))
    y = np.full((len(x), *size, len(weights)), np.nan, np.float32)
    x_tensor, x_buffer = guarded.tensor(x)
    y_tensor, y_buffer = guarded.tensor(y)
    step = convolution_step(x_tensor, pack_conv_weights(weights, bias, window, target, groups), y_tensor)
    run_on_target(step, {x_buffer: x, y_buffer: y}, target)
    return y, reference_convolution(x, weights, bias, window, groups, size)


def run_on_target(
    step: Step, memory: dict[Buffer, Array], target: Target, sizes: dict[str, int] | None = None
) -> None:
    """Runs a step with its kernel compiled for a target."""
    kernel = step.kernel
    as_target = replace(
        kernel, key=f"{kernel.key}@{target.lanes}", source=lambda name, _: kernel.source(name, target)
    )
    guarded.run(replace(step, kernel=as_target), memory, sizes)


def assert_close(y: Array, expected_y: Array, rounding: float = ROUNDING) -> None:
    np.testing.assert_allclose(y, expected_y, 0, rounding * max(1.0, np.abs(expected_y).max(initial=0)))


@pytest.mark.parametrize(
    "shape", [(0, 5, 5, 9), (1, 0, 5, 9), (1, 5, 0, 9), (1, 5, 5, 0), (2, 1, 1, 9)], ids=str
)
def test_empty_images(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), begin_pads=(1, 1))
    y, expected_y = run_convolution(
        draw(1, *shape), draw(2, 6, shape[3], 3, 3), window, size=(shape[1], shape[2])
    )
    assert_close(y, expected_y)


@pytest.mark.parametrize("shape", [(0, 5, 5, 3), (1, 0, 5, 3), (1, 5, 0, 3), (1, 1, 1, 3)], ids=str)
def test_empty_im2row_buffers(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), begin_pads=(1, 1))
    y, expected_y = run_convolution(draw(1, *shape), draw(2, 6, 3, 3, 3), window, size=(shape[1], shape[2]))
    assert_close(y, expected_y)
    y, expected_y = run_convolution(draw(1, *shape), draw(2, 6, 3, 3, 3), window, size=(0, 0))
    assert_close(y, expected_y)


def test_a_window_of_padding_is_the_bias() -> None:
    window = Window((1, 1), (4, 4), begin_pads=(2, 2))
    y, expected_y = run_convolution(draw(1, 1, 1, 1, 9), draw(2, 6, 9, 1, 1), window, size=(2, 2))
    assert_close(y, expected_y)
    np.testing.assert_array_equal(y[0, 1, 1], draw(5, 6))


def test_nan_and_infinity_reach_only_the_windows_that_contain_them() -> None:
    x = np.zeros((1, 4, 4, 9), np.float32)
    x[0, 0, 0, 0], x[0, 3, 3, 1] = np.inf, np.nan
    y, _ = run_convolution(
        x, np.ones((20, 9, 3, 3), np.float32), Window((3, 3), begin_pads=(1, 1)), size=(4, 4)
    )
    seen_nan, seen_inf = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    seen_nan[2:, 2:] = seen_inf[:2, :2] = True
    np.testing.assert_array_equal(np.isnan(y[0]).all(-1), seen_nan)
    np.testing.assert_array_equal(np.isnan(y[0]).any(-1), seen_nan)
    np.testing.assert_array_equal(np.isposinf(y[0]).all(-1), seen_inf)


@pytest.mark.parametrize("window", [Window(), Window((3, 3), begin_pads=(1, 1))], ids=str)
@pytest.mark.parametrize("columns", [64, 24])
@pytest.mark.parametrize("function", ["max", "erf"])
def test_an_epilogue_reads_scalars_columns_and_matrices(window: Window, columns: int, function: str) -> None:
    """epilogue = f(x * o0 + o1 + o2), stored into a slice of wider pixels."""
    sum_ = Apply("add", (Apply("add", (Apply("mul", (X, Local("o0"))), Local("o1"))), Local("o2")))
    value = Apply("max", (sum_, Number(0.0))) if function == "max" else Apply("erf", (sum_,))
    epilogue = Epilogue(value, ("scalar", "column", "matrix"))
    x, weights, bias = draw(1, 1, 5, 5, 9), draw(2, columns, 9, *window.kernel), draw(3, columns)
    factor, column, matrix = draw(4, 1), draw(5, columns), draw(6, 1, 5, 5, columns)
    frame = np.full((1, 5, 5, columns + 5), 7, np.float32)
    arrays = [x, factor, column, matrix, frame]
    tensors, storages = zip(*(guarded.tensor(array) for array in arrays), strict=True)
    y = TensorView(tensors[4].dtype, (1, 5, 5, columns), tensors[4].strides, storages[4], 3)
    step = convolution_step(
        tensors[0], pack_conv_weights(weights, bias, window, host_target()), y, epilogue, tensors[1:4]
    )
    guarded.run(step, dict(zip(storages, arrays, strict=True)))
    before = reference_convolution(x, weights, bias, window, 1, (5, 5)) * factor + column + matrix
    expected_y = np.maximum(before, 0) if function == "max" else np.vectorize(erf)(before)
    assert_close(frame[..., 3:-2], expected_y, 1e-5)  # the function adds its own rounding
    assert (frame[..., :3] == 7).all() and (frame[..., -2:] == 7).all(), (
        "memory outside of the slice was written"
    )


def erf(value: float) -> float:
    from math import erf

    return erf(value)


@pytest.mark.parametrize(
    ("window", "channels"),
    [
        (Window(), 12),
        (Window((3, 3), (2, 2), begin_pads=(1, 1)), 12),
        (Window((3, 3), (2, 2), begin_pads=(1, 1)), 3),
    ],
)
def test_sizes_may_be_symbolic(window: Window, channels: int) -> None:
    n, h, w = symbol("N"), symbol("H"), symbol("W")
    ho, wo = ((ceil_div(size, s)) for size, s in zip((h, w), window.strides, strict=True))
    x, weights = draw(1, 2, 9, 13, channels), draw(2, 40, channels, *window.kernel)
    y = np.zeros((2, 9, 13, 40) if window.strides == (1, 1) else (2, 5, 7, 40), np.float32)
    (x_tensor, x_buffer), (y_tensor, y_buffer) = guarded.tensor(x), guarded.tensor(y)
    x_tensor = replace(
        x_tensor, shape=(n, h, w, channels), strides=(h * w * channels, w * channels, channels, 1)
    )
    y_tensor = replace(y_tensor, shape=(n, ho, wo, 40), strides=(ho * wo * 40, wo * 40, 40, 1))
    step = convolution_step(x_tensor, pack_conv_weights(weights, None, window, host_target()), y_tensor, RELU)
    guarded.run(step, {x_buffer: x, y_buffer: y}, {"N": 2, "H": 9, "W": 13})
    expected_y = reference_convolution(
        x, weights, np.zeros(40, np.float32), window, 1, (y.shape[1], y.shape[2])
    )
    assert_close(y, np.maximum(expected_y, 0))


def test_infinities_stay_in_their_narrow_group() -> None:
    x, weights = draw(1, 1, 3, 3, 32), draw(2, 32, 4, 3, 3)
    x[..., 5] = np.inf
    y, _ = run_convolution(x, weights, Window((3, 3), begin_pads=(1, 1)), size=(3, 3), groups=8)
    assert np.isfinite(y[..., [*range(4), *range(8, 32)]]).all()
    assert not np.isfinite(y[..., 4:8]).any()


@pytest.mark.parametrize("pixel", [4, 5])
def test_im2row_reads_images_of_any_strides(pixel: int) -> None:
    """Three channels of a dense image, and of one whose pixels are wider."""
    x, weights, window = (
        draw(1, 2, 9, 20, pixel),
        draw(2, 20, 3, 3, 3),
        Window((3, 3), (2, 1), begin_pads=(1, 1)),
    )
    y = np.zeros((2, 5, 20, 20), np.float32)
    (x_tensor, x_buffer), (y_tensor, y_buffer) = guarded.tensor(x), guarded.tensor(y)
    x_tensor = replace(x_tensor, shape=(2, 9, 20, 3), offset=1)
    step = convolution_step(x_tensor, pack_conv_weights(weights, None, window, host_target()), y_tensor)
    guarded.run(step, {x_buffer: x, y_buffer: y})
    assert_close(y, reference_convolution(x[..., 1:4], weights, np.zeros(20, np.float32), window, 1, (5, 20)))


@pytest.mark.parametrize(("rows", "columns"), [(22, 32), (26, 16), (22, 64)])
def test_short_row_blocks_have_separate_partial_sums(rows: int, columns: int) -> None:
    x, weights = draw(8, 1, 1, rows, 2200), draw(9, columns, 2200, 1, 1)
    y, expected_y = run_convolution(x, weights, Window(), size=(1, rows))
    np.testing.assert_allclose(y, expected_y, atol=ROUNDING * 4 * np.abs(expected_y).max())  # of 2,200 terms
