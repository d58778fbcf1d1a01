"""Copy kernels between tensors of any strides: transposes, broadcasts and slices, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

DTYPES: list[Any] = [np.uint8, np.int16, np.float32, np.int64, np.complex128]


def random_array(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def run_transpose(array: Array, perm: tuple[int, ...]) -> Array:
    """The array transposed by the copy kernel."""
    x, x_buffer = guarded.tensor(array)
    result = np.zeros([array.shape[p] for p in perm], array.dtype)
    y, y_buffer = guarded.tensor(result)
    guarded.run(copy_step(x.permute(perm), y), {x_buffer: array, y_buffer: result})
    return result


def test_transpose_of_six_dims() -> None:
    array = random_array((2, 3, 2, 5, 4, 3))
    for perm in ((0, 1, 4, 2, 5, 3), (5, 4, 3, 2, 1, 0), (1, 0, 3, 2, 5, 4), (0, 3, 1, 2, 5, 4)):
        np.testing.assert_array_equal(run_transpose(array, perm), array.transpose(perm))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 15, 31, 32, 63, 64, 65, 127, 129, 300, 40001])
def test_contiguous_copy_of_any_length(count: int) -> None:
    array = random_array((count,), np.uint8)
    np.testing.assert_array_equal(run_transpose(array, (0,)), array)


def test_write_to_a_slice_leaves_the_rest_unchanged() -> None:
    array, result = random_array((4, 3)), np.full((4, 10), -1, np.float32)
    x, x_buffer = guarded.tensor(array)
    y, y_buffer = guarded.tensor(result)
    slice_of_y = TensorView(y.dtype, (4, 3), (10, 1), y_buffer, 5)
    guarded.run(copy_step(x, slice_of_y), {x_buffer: array, y_buffer: result})
    expected = np.full((4, 10), -1, np.float32)
    expected[:, 5:8] = array
    np.testing.assert_array_equal(result, expected)


def test_symbolic_dims() -> None:
    n, h, w = symbol("N"), symbol("H"), symbol("W")
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 2, 3), (3, 2, 1, 0)):
        for sizes in ((2, 6, 5), (1, 17, 3), (0, 4, 4), (3, 0, 2)):
            array = random_array((sizes[0], 8, *sizes[1:]))
            _, x_buffer = guarded.tensor(array)
            x = TensorView(
                guarded.tensor(array)[0].dtype, (n, 8, h, w), (8 * h * w, h * w, w, 1), x_buffer
            ).permute(perm)
            result = np.zeros([array.shape[p] for p in perm], np.float32)
            _, b, c, d = x.shape
            _, y_buffer = guarded.tensor(result)
            y = TensorView(x.dtype, x.shape, (b * c * d, c * d, d, 1), y_buffer)
            step = copy_step(x, y)
            guarded.run(step, {x_buffer: array, y_buffer: result}, dict(zip("NHW", sizes, strict=True)))
            np.testing.assert_array_equal(result, array.transpose(perm))


def test_layout_change_of_symbolic_images_transposes_blocks() -> None:
    h, w = symbol("H"), symbol("W")
    x, _ = guarded.tensor(random_array((1, 8, 2, 2)))
    planar = replace(x, shape=(1, 8, h, w), strides=(8 * h * w, h * w, w, 1))
    pixels = replace(x, shape=(1, 8, h, w), strides=(8 * h * w, 1, 8 * w, 8))
    assert kernel_key(copy_step(planar, pixels)).startswith("copy_bands")
    assert kernel_key(copy_step(pixels, planar)).startswith("copy_bands")
    assert kernel_key(copy_step(pixels, pixels)) == "copy_runs_1_1"


def kernel_key(step: Step) -> str:
    return step.kernel.key
