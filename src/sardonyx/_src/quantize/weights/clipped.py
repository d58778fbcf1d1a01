"""Rounding to the nearest integer of a grid that spans the part of each block whose squared error is least.

A narrower range rounds most weights more finely and clips the largest ones (Banner et al., "Post training 4-bit quantization
of convolutional networks for rapid-deployment", 2019); the share is searched, block by block.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight, block_starts, ranges_of_blocks
from sardonyx._src.quantize.weights.grid import (
    GridParameters,
    IntegerGrid,
    dequantize,
    range_parameters,
    round_to_grid,
)

SHARES = np.linspace(1.0, 0.5, 21, dtype=np.float32)  # of the range of a block


def quantize_clipped(weight: Array, block: int, grid: IntegerGrid, moments: Array | None) -> QuantizedWeight:
    """The squared error of a block is at most that of `quantize_nearest`.

    With moments, the error of a weight counts as the mean square of what multiplies it.
    """
    importance = None if moments is None else np.diagonal(moments).astype(np.float32)[:, None]
    parameters = clipped_parameters(weight, block, grid, importance)
    spread = QuantizedWeight(weight, parameters, block).spread()
    return QuantizedWeight(round_to_grid(weight, spread, grid), parameters, block)


def clipped_parameters(
    weight: Array, block: int, grid: IntegerGrid, importance: Array | None
) -> GridParameters:
    """The parameters [blocks, columns] of the best shares."""
    least, greatest = ranges_of_blocks(weight, block)
    best = range_parameters(least, greatest, grid)
    errors = block_errors(weight, block, grid, best, importance)
    for share in SHARES[1:]:
        tried = range_parameters(least * share, greatest * share, grid)
        tried_errors = block_errors(weight, block, grid, tried, importance)
        is_better = tried_errors < errors
        errors = np.where(is_better, tried_errors, errors)
        best = GridParameters(
            np.where(is_better, tried.scales, best.scales),
            np.where(is_better, tried.zero_points, best.zero_points),
        )
    return best


def block_errors(
    weight: Array, block: int, grid: IntegerGrid, parameters: GridParameters, importance: Array | None
) -> Array:
    """The sums of squared errors, weighted: [blocks, columns]."""
    spread = QuantizedWeight(weight, parameters, block).spread()
    squares = np.square(dequantize(round_to_grid(weight, spread, grid), spread) - weight)
    if importance is not None:
        squares *= importance
    return np.add.reduceat(squares, block_starts(len(weight), block), axis=0)
