"""Rounding to the nearest integer of a grid that spans each block."""

from __future__ import annotations

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight, ranges_of_blocks
from sardonyx._src.quantize.weights.grid import IntegerGrid, range_parameters, round_to_grid
from sardonyx._src.quantize.weights.operands import OperandStatistics


def quantize_nearest(
    weight: Array, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> QuantizedWeight:
    """The error of a weight is at most half of its block's scale."""
    parameters = range_parameters(*ranges_of_blocks(weight, block), grid)
    drawn = QuantizedWeight(weight, parameters, block)
    return QuantizedWeight(round_to_grid(weight, drawn.spread(), grid), parameters, block)
