"""Scales, zero points and integers, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.dtypes import DataType
from sardonyx._src.quantize.weights.grid import IntegerGrid, dequantize, range_parameters, round_to_grid


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("grid", "dtype", "least", "greatest"),
    [
        (IntegerGrid(4, True), DataType.INT4, -8, 7),
        (IntegerGrid(4, False), DataType.UINT4, 0, 15),
        (IntegerGrid(8, True), DataType.INT8, -128, 127),
        (IntegerGrid(8, False), DataType.UINT8, 0, 255),
    ],
)
def test_grids(grid: IntegerGrid, dtype: DataType, least: int, greatest: int) -> None:
    assert (grid.dtype, grid.least, grid.greatest) == (dtype, least, greatest)


def test_a_symmetric_grid_spans_the_largest_magnitude() -> None:
    grid = IntegerGrid(4, True)
    parameters = range_parameters(column(-3.5, -1), column(1, 7), grid)
    assert parameters.scales.tolist() == [0.5, 1]
    assert parameters.zero_points.tolist() == [0, 0]
    integers = round_to_grid(column(-3.5, 6.4), parameters, grid)
    assert integers.tolist() == [-7, 6]
    assert dequantize(integers, parameters).tolist() == [-3.5, 6]


def test_an_asymmetric_grid_spans_the_range_with_zero() -> None:
    grid = IntegerGrid(4, False)
    parameters = range_parameters(column(-5, 3), column(10, 15), grid)
    assert parameters.scales.tolist() == [1, 1]
    assert parameters.zero_points.tolist() == [5, 0]  # the range of the second one begins at zero
    integers = round_to_grid(column(-5.2, 15), parameters, grid)
    assert integers.tolist() == [0, 15]
    assert dequantize(integers, parameters).tolist() == [-5, 15]


@pytest.mark.parametrize("symmetric", [False, True])
def test_zeros_stay_zeros(symmetric: bool) -> None:
    grid, zeros = IntegerGrid(8, symmetric), column(0)
    parameters = range_parameters(zeros, zeros, grid)
    assert dequantize(round_to_grid(zeros, parameters, grid), parameters).tolist() == [0]
    assert np.isfinite(parameters.scales).all()


def test_values_beyond_the_grid_become_its_ends() -> None:
    grid = IntegerGrid(8, True)
    parameters = range_parameters(column(-1), column(1), grid)
    assert round_to_grid(column(-9), parameters, grid).tolist() == [-128]
    assert round_to_grid(column(9), parameters, grid).tolist() == [127]
