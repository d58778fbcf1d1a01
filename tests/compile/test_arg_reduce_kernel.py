"""Kernels of ArgMax and ArgMin: any axis, element type and layout, against the reference kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from sardonyx._src.compile.kernels.reductions.arg_reducer import ArgReduction
from sardonyx._src.compile.kernels.reductions.reduce import arg_reduce_step
from sardonyx._src.compile.program import TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.math.arg_reductions import locate

REDUCTIONS = [ArgReduction(is_max, select_last) for is_max in (True, False) for select_last in (True, False)]


def run(array: Array, axis: int, reduction: ArgReduction) -> Array:
    shape = [1 if d == axis else n for d, n in enumerate(array.shape)]
    indices = np.full(shape, -1, np.int64)
    (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(indices)
    step = arg_reduce_step(x, y, axis, reduction)
    guarded.run(step, {x_buffer: array, y_buffer: indices})
    return indices.squeeze(axis)


def compute_expected(array: Array, axis: int, reduction: ArgReduction) -> Array:
    return locate(array, axis, np.argmax if reduction.is_max else np.argmin, reduction.select_last)


def random_array(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """Integers of a small range, so that many elements are equal."""
    return np.random.default_rng(8).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_any_axis_and_element_type(dtype: Any, reduction: ArgReduction) -> None:
    for shape in ((3, 5, 7), (2, 33, 40), (2, 300, 20), (1, 1, 300), (4, 2, 1)):
        array = random_array(shape, dtype)
        for axis in range(3):
            np.testing.assert_array_equal(
                run(array, axis, reduction), compute_expected(array, axis, reduction)
            )


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_nan_ranks_before_infinities(reduction: ArgReduction) -> None:
    array = random_array((7, 70))
    array[1, [3, 50]], array[2], array[3] = np.nan, np.inf, -np.inf
    array[4, 60], array[4, 5], array[5, 9:20], array[6] = np.inf, -np.inf, np.nan, np.nan
    for axis in (0, 1):
        np.testing.assert_array_equal(run(array, axis, reduction), compute_expected(array, axis, reduction))


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_short_rows_with_nan_and_infinities(reduction: ArgReduction) -> None:
    array = random_array((70, 9))
    array[1, [3, 5]], array[2], array[3], array[69] = np.nan, np.inf, -np.inf, np.nan
    array[4, 6], array[4, 5], array[5, 2:4] = np.inf, -np.inf, np.nan
    np.testing.assert_array_equal(run(array, 1, reduction), compute_expected(array, 1, reduction))


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_integer_bounds_are_ordinary_elements(reduction: ArgReduction) -> None:
    for extreme in (np.iinfo(np.int64).min, np.iinfo(np.int64).max):
        array = np.full((3, 20), extreme, np.int64)
        np.testing.assert_array_equal(run(array, 1, reduction), compute_expected(array, 1, reduction))


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_accumulators_of_long_rows_are_merged_by_rank_and_index(reduction: ArgReduction, lanes: int) -> None:
    """Rows with several accumulators and a remainder: of the worst value only, of NaN, of ties in different lanes."""
    array = random_array((9, 333))
    array[1], array[2], array[3] = -np.inf, np.inf, np.nan
    array[4, [5, 100, 331]], array[5, [17, 80, 81, 332]], array[6, :300] = np.nan, 9, -np.inf
    array[7, [0, 64, 332]], array[8, 332] = -9, np.inf
    integers = random_array((4, 333), np.int64)
    integers[1], integers[2] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for values in (array, integers):
        indices = np.full((len(values), 1), -1, np.int64)
        (x, x_buffer), (y, y_buffer) = guarded.tensor(values), guarded.tensor(indices)
        step = with_lanes(arg_reduce_step(x, y, 1, reduction), lanes)
        guarded.run(step, {x_buffer: values, y_buffer: indices})
        np.testing.assert_array_equal(indices[:, 0], compute_expected(values, 1, reduction))


def test_strided_input_without_keepdims() -> None:
    array, indices = random_array((20, 30)), np.zeros(10, np.int64)
    (full, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(indices)
    step = arg_reduce_step(TensorView(full.dtype, (10, 15), (60, 2), x_buffer, 31), y, 1, ArgReduction(True))
    guarded.run(step, {x_buffer: array, y_buffer: indices})
    np.testing.assert_array_equal(indices, array[1::2, 1::2].argmax(1))


def test_symbolic_and_empty_dims() -> None:
    n = symbol("N")
    for size in (0, 1, 9):
        for axis in (1, 2):
            array, shape = random_array((2, max(size, 1), 21)), (2, n, 21)
            if size == 0:
                array = array[:, :0]
            indices = np.zeros([s for d, s in enumerate(array.shape) if d != axis], np.int64)
            (x, x_buffer), (y, y_buffer) = guarded.tensor(array), guarded.tensor(indices)
            inner = 21 if axis == 1 else n
            symbolic = TensorView(x.dtype, shape, (21 * n, 21, 1), x_buffer)
            step = arg_reduce_step(
                symbolic, TensorView(y.dtype, (2, inner), (inner, 1), y_buffer), axis, ArgReduction(True)
            )
            guarded.run(step, {x_buffer: array, y_buffer: indices}, {"N": size})
            if size:
                np.testing.assert_array_equal(indices, array.argmax(axis))
