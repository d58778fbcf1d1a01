"""Steps of Pad, Tile and fills, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile import guarded
from sardonyx._src.compile.kernels.data_movement.pad import PadMode, can_pad, pad_steps
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, known_ge, symbol

Pads = tuple[tuple[int, int], ...]


def random_array(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


def run_pad(array: Array, pads: Pads, mode: PadMode) -> Array:
    shape = [n + a + b for n, (a, b) in zip(array.shape, pads, strict=True)]
    result = np.full(shape, 77, array.dtype)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
    steps = pad_steps(x, y, [a for a, _ in pads], mode, np.array(5, array.dtype))
    guarded.run(steps, {x_buffer: array, y_buffer: result})
    return result


def test_negative_pads_crop() -> None:
    array = random_array((6, 7, 8))
    result = run_pad(array, ((-1, -2), (-3, 2), (1, -8)), "constant")
    expected = np.pad(array[1:4, 3:], ((0, 0), (0, 2), (1, 0)), constant_values=5)[..., :1]
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("mode", "before", "sizes"),
    [("reflect", 5, 5), ("wrap", 6, 5), ("edge", 1, 0), ("wrap", -1, 5), ("reflect", symbol("P"), 5)],
)
def test_pad_larger_than_its_source_has_no_kernel(mode: PadMode, before: Any, sizes: int) -> None:
    def is_provably_ge(size: Known, minimum: Known) -> bool:
        return known_ge(size, minimum) is True

    assert not can_pad([sizes], [sizes + before], [before], mode, is_provably_ge)
    assert can_pad([9], [9 + 2], [2], mode, is_provably_ge)


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_negative_pads_crop_before_the_border_is_copied(mode: PadMode) -> None:
    array = random_array((6, 9))
    result = run_pad(array, ((-1, 2), (3, -2)), mode)
    np.testing.assert_array_equal(result, np.pad(array[1:, :-2], ((0, 2), (3, 0)), mode=mode))


def test_symbolic_dims() -> None:
    n = symbol("N")
    for size in (0, 1, 5, 40):
        array = random_array((3, size))
        result = np.zeros((3, size + 3), np.float32)
        (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(result)
        symbolic = (
            TensorView(x.dtype, (3, n), (n, 1), x_buffer),
            TensorView(y.dtype, (3, n + 3), (n + 3, 1), y_buffer),
        )
        steps = pad_steps(*symbolic, [0, 1], "constant", np.array(5, np.float32))
        guarded.run(steps, {x_buffer: array, y_buffer: result}, {"N": size})
        np.testing.assert_array_equal(result, np.pad(array, ((0, 0), (1, 2)), constant_values=5))
