"""AdaRound: no single rounding can be improved, and small problems are solved nearly as well as by exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.adaround import quantize_adaround
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.operands import OperandStatistics

TERMS, COLUMNS, BLOCK = 90, 12, 32


def problem(terms: int, columns: int, rank: int) -> tuple[Array, Array]:
    """A heavy-tailed weight [terms, columns], and correlated rows [200, terms]."""
    rng = np.random.default_rng(terms)
    rows = rng.standard_normal((200, rank)) @ rng.standard_normal((rank, terms))
    rows += 0.1 * rng.standard_normal(rows.shape)
    return rng.standard_t(3, (terms, columns)).astype(np.float32), rows


def losses(values: Array, weight: Array, rows: Array) -> Array:
    return np.asarray(np.square(rows @ (values.astype(np.float64) - weight)).sum(axis=0))


@pytest.mark.parametrize("symmetric", [False, True])
def test_products_are_better_than_those_of_the_nearest_integers(symmetric: bool) -> None:
    weight, rows = problem(TERMS, COLUMNS, 20)
    statistics, grid = OperandStatistics.of_rows(rows), IntegerGrid(4, symmetric)
    adaround, clipped = (
        losses(algorithm(weight, BLOCK, grid, statistics).values(), weight, rows)
        for algorithm in (quantize_adaround, quantize_clipped)
    )
    assert (adaround <= clipped).all()
    assert adaround.sum() < 0.3 * clipped.sum()


def test_no_single_rounding_can_be_improved() -> None:
    weight, rows = problem(TERMS, COLUMNS, 20)
    quantized = quantize_adaround(weight, BLOCK, IntegerGrid(4, True), OperandStatistics.of_rows(rows))
    least = losses(quantized.values(), weight, rows)
    exact = weight / quantized.spread().scales
    below = np.clip(np.floor(exact), -8, 6)
    assert ((quantized.integers == below) | (quantized.integers == below + 1)).all()
    for term in range(TERMS):
        integers = quantized.integers.copy()
        integers[term] = 2 * below[term] + 1 - integers[term]  # the other neighbor
        flipped = QuantizedWeight(integers, quantized.parameters, BLOCK).values()
        assert (losses(flipped, weight, rows) > 0.999 * least).all()


def test_small_problems_by_exhaustive_search() -> None:
    terms = 8
    weight, rows = problem(terms, 30, terms)
    statistics, grid = OperandStatistics.of_rows(rows), IntegerGrid(4, True)
    start = quantize_clipped(weight, 16, grid, statistics)
    scales = start.spread().scales
    below = np.clip(np.floor(weight / scales), -8, 6)
    choices = (np.array(is_up)[:, None] for is_up in itertools.product((0, 1), repeat=terms))
    best = np.min([losses((below + is_up) * scales, weight, rows) for is_up in choices], axis=0)
    reached = losses(quantize_adaround(weight, 16, grid, statistics).values(), weight, rows)
    nearest = losses(start.values(), weight, rows)
    assert (reached >= best * 0.999).all()
    assert np.mean(reached <= best * 1.001) > 0.6
    assert np.mean(nearest <= best * 1.001) < 0.5
