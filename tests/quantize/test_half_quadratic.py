"""HQQ: the sum of |error|^0.7 falls, and outliers do not stretch the grid."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.hqq import quantize_hqq, shrink
from sardonyx._src.quantize.weights.nearest import quantize_nearest

BLOCK = 32


def powers(quantized: QuantizedWeight, weight: Array) -> Array:
    """The sums of |error|^0.7 of each block."""
    errors = np.abs(quantized.values().astype(np.float64) - weight) ** 0.7
    return np.asarray(np.add.reduceat(errors, range(0, len(weight), BLOCK), axis=0))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_objective_falls_in_every_block(symmetric: bool, bits: int) -> None:
    weight = np.random.default_rng(1).standard_t(3, (150, 24)).astype(np.float32)
    grid = IntegerGrid(bits, symmetric)
    hqq, nearest, clipped = (
        powers(algorithm(weight, BLOCK, grid, None), weight)
        for algorithm in (quantize_hqq, quantize_nearest, quantize_clipped)
    )
    assert (hqq <= nearest * 1.0001).all() and (hqq <= clipped * 1.0001).all()
    assert hqq.sum() < 0.99 * nearest.sum()


def test_one_outlier_leaves_the_others_exact() -> None:
    integers = np.random.default_rng(2).integers(-6, 7, (BLOCK, 1))
    integers[:2, 0] = 7, -6
    weight = (integers * 0.25).astype(np.float32)
    weight[5] = 7.45 * 0.25
    grid = IntegerGrid(4, True)
    hqq, nearest = (algorithm(weight, BLOCK, grid, None) for algorithm in (quantize_hqq, quantize_nearest))
    # The best scale by exhaustive search is that of all other weights.
    scales = np.linspace(0.2, 0.3, 1001)
    rounded = np.clip(np.rint(weight / scales), -8, 7) * scales
    assert scales[(np.abs(rounded - weight) ** 0.7).sum(axis=0).argmin()] == pytest.approx(0.25, abs=1e-4)
    assert hqq.parameters.scales.item() == pytest.approx(0.25, rel=5e-3)
    assert nearest.parameters.scales.item() == pytest.approx(7.45 * 0.25 / 7)


def test_shrinking_minimizes_the_half_quadratic_term() -> None:
    """Among many numbers, the shrunk error nearly minimizes |s|^0.7 + 0.7 * penalty / 2 * (s - e)^2: one step of its fixed point."""
    penalty, errors = 30.0, np.array([-2.0, -0.5, 0.01, 0.05, 1.0], np.float32)
    tried = np.linspace(-3, 3, 60001)
    costs = np.abs(tried) ** 0.7 + 0.7 * penalty / 2 * (tried - errors[:, None]) ** 2
    np.testing.assert_allclose(shrink(errors, penalty), tried[costs.argmin(axis=1)], atol=5e-3)
