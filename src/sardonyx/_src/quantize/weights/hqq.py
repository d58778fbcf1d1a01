"""Scales and zero points for which few weights have large errors, without data.

Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023: the sum of |error|^p with p < 1, which
forgives the errors of outliers, is minimized by turns, in the splitting of half-quadratic optimization: errors that are
sparse, by the operator that shrinks them, and the parameters of the grid that fit the rest, in closed form.  Here a scale
is fitted as well as a zero point, which is an integer, each block keeps the best parameters that it has had,
and the first ones are those of the range of least squared error.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import (
    QuantizedWeight,
    ranges_of_blocks,
    select_parameters,
    spread_blocks,
    sum_blocks,
)
from sardonyx._src.quantize.weights.clipped import clipped_parameters
from sardonyx._src.quantize.weights.grid import (
    LEAST_SCALE,
    GridParameters,
    IntegerGrid,
    dequantize,
    range_parameters,
    round_to_grid,
)
from sardonyx._src.quantize.weights.operands import OperandStatistics

EXPONENT = 0.7  # p, as published
PENALTY, GROWTH = (
    10.0,
    1.01,
)  # of the difference of errors and sparse errors, in scales, and its factor in each turn
TURNS = 20


def quantize_hqq(
    weight: Array, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> QuantizedWeight:
    """The sum of |error|^0.7 of a block is at most that of `quantize_nearest`, and of `quantize_clipped` without data."""
    best = range_parameters(*ranges_of_blocks(weight, block), grid)
    unit = spread_blocks(best.scales, block, len(weight))
    least = losses_of(rounding_errors(weight, best, block, grid, unit)[1], block)
    parameters = clipped_parameters(weight, block, grid, None)
    for turn in range(TURNS + 1):
        integers, errors = rounding_errors(weight, parameters, block, grid, unit)
        losses = losses_of(errors, block)
        best, least = select_parameters(losses < least, parameters, best), np.minimum(least, losses)
        target = weight - shrink(errors, PENALTY * GROWTH**turn) * unit
        parameters = fit_parameters(target, integers, parameters, block, grid)
    return QuantizedWeight(rounding_errors(weight, best, block, grid, unit)[0], best, block)


def rounding_errors(
    weight: Array, parameters: GridParameters, block: int, grid: IntegerGrid, unit: Array
) -> tuple[Array, Array]:
    """The nearest integers, and their errors over a unit."""
    spread = QuantizedWeight(weight, parameters, block).spread()
    integers = round_to_grid(weight, spread, grid)
    return integers, (weight - dequantize(integers, spread)) / unit


def losses_of(errors: Array, block: int) -> Array:
    """The sum of |error|^p of each block."""
    return sum_blocks(np.abs(errors) ** np.float32(EXPONENT), block)


def shrink(errors: Array, penalty: float) -> Array:
    """The generalized soft-thresholding of errors: zero for small ones, and hardly less for large ones."""
    magnitudes = np.abs(errors)
    powers = np.maximum(magnitudes, np.float32(LEAST_SCALE)) ** np.float32(EXPONENT - 1)
    return np.asarray(np.sign(errors) * np.maximum(magnitudes - powers / np.float32(penalty), 0))


def fit_parameters(
    target: Array, integers: Array, parameters: GridParameters, block: int, grid: IntegerGrid
) -> GridParameters:
    """The zero points, then the scales [blocks, columns], for which integers are nearest to the target."""
    terms = len(target)
    zero_points = parameters.zero_points
    if not grid.symmetric:
        offsets = integers - target / spread_blocks(parameters.scales, block, terms)
        counts = sum_blocks(np.ones((terms, 1), np.float32), block)
        zero_points = np.rint(sum_blocks(offsets, block) / counts).clip(grid.least, grid.greatest)
        zero_points = zero_points.astype(np.int32)
    distances = (integers - spread_blocks(zero_points, block, terms)).astype(np.float32)
    products, squares = sum_blocks(distances * target, block), sum_blocks(np.square(distances), block)
    scales = np.where(products > 0, products / np.maximum(squares, 1), parameters.scales)
    return GridParameters(np.maximum(scales, np.float32(LEAST_SCALE)), zero_points)
