"""Rounding term by term, where later terms make up for the errors of earlier ones.

Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2023: with the moments H of
what multiplies the weight, the error of a term is distributed over the terms that are not rounded yet in the proportions of
the rows of the Cholesky factor of the inverse of H.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.clipped import clipped_parameters, quantize_clipped
from sardonyx._src.quantize.weights.grid import GridParameters, IntegerGrid, dequantize, round_to_grid
from sardonyx._src.quantize.weights.operands import OperandStatistics

PANEL = 128  # terms whose errors reach later panels in one product


def quantize_gptq(
    weight: Array, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> QuantizedWeight:
    """The squared error of products with the calibration data is reduced; without data it is `quantize_clipped`.

    Terms that nothing multiplies have no moments, and their errors are distributed to none.
    """
    if statistics is None or not np.any(statistics.squares):
        return quantize_clipped(weight, block, grid, statistics)
    factor = statistics.inverse_factor
    importance = statistics.squares.astype(np.float32)[:, None]
    rest, terms = weight.astype(np.float32), len(weight)
    integers = np.empty(weight.shape, np.int32)
    scales, zero_points = [], []
    parameters: GridParameters | None = None
    for start in range(0, terms, PANEL):
        stop = min(start + PANEL, terms)
        errors = np.empty((stop - start, weight.shape[1]), np.float32)
        for term in range(start, stop):
            if term % block == 0:
                part = slice(term, min(term + block, terms))
                parameters = clipped_parameters(rest[part], block, grid, importance[part])
                scales.append(parameters.scales[0])
                zero_points.append(parameters.zero_points[0])
            assert parameters is not None, "the first term begins a block"
            row = GridParameters(parameters.scales[0], parameters.zero_points[0])
            integers[term] = round_to_grid(rest[term], row, grid)
            error = (rest[term] - dequantize(integers[term], row)) / factor[term, term]
            rest[term + 1 : stop] -= factor[term, term + 1 : stop, None] * error
            errors[term - start] = error
        rest[stop:] -= factor[start:stop, stop:].T @ errors
    return QuantizedWeight(integers, GridParameters(np.stack(scales), np.stack(zero_points)), block)
