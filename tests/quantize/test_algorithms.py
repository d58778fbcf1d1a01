"""What the algorithms promise of the error of a weight."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.gptq import quantize_gptq
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.nearest import quantize_nearest
from sardonyx._src.quantize.weights.operands import OperandStatistics

GRIDS = [IntegerGrid(bits, symmetric) for bits in (4, 8) for symmetric in (False, True)]
TERMS, COLUMNS, BLOCK = 150, 24, 32  # the last block has 22 terms


def heavy_tailed(seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_t(3, (TERMS, COLUMNS)), np.float32)


def correlated_rows(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.standard_normal((500, 40)) @ rng.standard_normal((40, TERMS)))


def squared_error(quantized: QuantizedWeight, weight: Array) -> Array:
    """Of each column."""
    return np.asarray(np.square(quantized.values().astype(np.float64) - weight).sum(axis=0))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_the_nearest_integer_is_at_most_half_a_scale_away(grid: IntegerGrid) -> None:
    weight = heavy_tailed(0)
    quantized = quantize_nearest(weight, BLOCK, grid, None)
    assert quantized.parameters.scales.shape == (5, COLUMNS)
    bound = quantized.spread().scales * (
        0.5 if grid.symmetric else 1.0
    )  # a rounded zero point moves the grid by half
    assert (np.abs(quantized.values() - weight) <= bound * 1.0001).all()
    assert (quantized.integers >= grid.least).all() and (quantized.integers <= grid.greatest).all()


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_clipping_never_adds_to_the_error(grid: IntegerGrid) -> None:
    weight = heavy_tailed(1)
    nearest, clipped = (
        squared_error(algorithm(weight, BLOCK, grid, None), weight)
        for algorithm in (quantize_nearest, quantize_clipped)
    )
    assert (clipped <= nearest).all()
    if grid.bits == 4:
        assert clipped.sum() < 0.98 * nearest.sum()


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_gptq_reduces_the_error_of_products_with_its_data(grid: IntegerGrid) -> None:
    weight, rows = heavy_tailed(2), correlated_rows(3)
    statistics = OperandStatistics.of_rows(rows)
    errors = [
        np.square(rows @ (algorithm(weight, BLOCK, grid, statistics).values() - weight)).sum()
        for algorithm in (quantize_clipped, quantize_gptq)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_gptq_of_independent_terms_of_equal_size_has_nothing_to_distribute(grid: IntegerGrid) -> None:
    weight = heavy_tailed(4)
    gptq, clipped = (
        algorithm(weight, BLOCK, grid, OperandStatistics.of_rows(np.eye(TERMS)))
        for algorithm in (quantize_gptq, quantize_clipped)
    )
    np.testing.assert_array_equal(gptq.integers, clipped.integers)
    np.testing.assert_array_equal(gptq.parameters.scales, clipped.parameters.scales)


def test_gptq_leaves_terms_alone_that_nothing_multiplies() -> None:
    weight, rows = heavy_tailed(5), correlated_rows(6)
    rows[:, 7] = 0
    quantized = quantize_gptq(weight, BLOCK, IntegerGrid(4, True), OperandStatistics.of_rows(rows))
    assert np.isfinite(quantized.values()).all()
    scale = quantized.spread().scales[7]
    assert (
        np.abs(quantized.values()[7] - weight[7])
        <= np.maximum(scale / 2, np.abs(weight[7]) - 7 * scale) * 1.001
    ).all()


@pytest.mark.parametrize("algorithm", [quantize_nearest, quantize_clipped, quantize_gptq])
def test_weights_of_the_grid_are_exact(algorithm: object) -> None:
    rng = np.random.default_rng(7)
    integers = rng.integers(-8, 8, (TERMS, COLUMNS))
    for start in range(0, TERMS, BLOCK):
        integers[start] = 7  # so that each block spans the grid, and the scale is 0.25
        integers[start + 1 : start + BLOCK][integers[start + 1 : start + BLOCK] == -8] = -7
    weight = (integers * 0.25).astype(np.float32)
    rows = rng.standard_normal((500, TERMS))
    quantized = algorithm(weight, BLOCK, IntegerGrid(4, True), OperandStatistics.of_rows(rows))  # type: ignore[operator]
    np.testing.assert_array_equal(quantized.values(), weight)
