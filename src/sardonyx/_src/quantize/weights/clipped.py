"""Rounding to the nearest integer of a grid that spans the part of each block whose squared error is least.

A narrower range rounds most weights more finely and clips the largest ones (Banner et al., "Post training 4-bit quantization
of convolutional networks for rapid-deployment", 2019); the share is searched, block by block.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import (
    QuantizedWeight,
    select_parameters,
    split_blocks,
)
from sardonyx._src.quantize.weights.grid import (
    GridParameters,
    IntegerGrid,
    range_parameters,
    round_to_grid,
)
from sardonyx._src.quantize.weights.operands import OperandStatistics

SHARES = np.linspace(1.0, 0.5, 21, dtype=np.float32)  # of the range of a block


def quantize_clipped(
    weight: Array, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> QuantizedWeight:
    """The squared error of a block is at most that of `quantize_nearest`.

    With statistics, the error of a weight counts as the mean square of what multiplies it.
    """
    importance = None if statistics is None else statistics.squares.astype(np.float32)[:, None]
    parameters = clipped_parameters(weight, block, grid, importance)
    spread = QuantizedWeight(weight, parameters, block).spread()
    return QuantizedWeight(round_to_grid(weight, spread, grid), parameters, block)


def clipped_parameters(
    weight: Array, block: int, grid: IntegerGrid, importance: Array | None
) -> GridParameters:
    """The parameters [blocks, columns] of the best shares."""
    blocks = split_blocks(weight, block)
    shares = None if importance is None else split_blocks(importance, block)
    least, greatest = blocks.min(axis=1), blocks.max(axis=1)
    best = range_parameters(least, greatest, grid)
    errors = block_errors(blocks, grid, best, shares)
    for share in SHARES[1:]:
        tried = range_parameters(least * share, greatest * share, grid)
        tried_errors = block_errors(blocks, grid, tried, shares)
        best = select_parameters(tried_errors < errors, tried, best)
        errors = np.minimum(tried_errors, errors)
    return best


def block_errors(
    blocks: Array, grid: IntegerGrid, parameters: GridParameters, importance: Array | None
) -> Array:
    """The sums of squared errors, weighted: [blocks, columns] of [blocks, block, columns].

    Rounds as `round_to_grid` does, in one array, since this takes nearly all of the time.
    """
    scales = parameters.scales[:, None]
    numbers = blocks / scales
    np.rint(numbers, out=numbers)
    if grid.symmetric:
        np.clip(numbers, grid.least, grid.greatest, out=numbers)
    else:
        zero_points = parameters.zero_points[:, None].astype(np.float32)
        np.clip(numbers, grid.least - zero_points, grid.greatest - zero_points, out=numbers)
    numbers *= scales
    numbers -= blocks
    np.square(numbers, out=numbers)
    if importance is not None:
        numbers *= importance
    return np.asarray(numbers.sum(axis=1))
