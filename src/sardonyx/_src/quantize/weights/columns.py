"""Quantizes a weight some columns at a time, on all processors: few of the temporary arrays are in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import Algorithm, QuantizedWeight
from sardonyx._src.quantize.weights.grid import GridParameters, IntegerGrid
from sardonyx._src.quantize.weights.operands import OperandStatistics
from sardonyx._src.threads import affinity_count

# Weights of the columns that are quantized together.
PART_WEIGHTS = 1 << 18  # temporary arrays of 1 MB stay in a cache
WIDE_PART_WEIGHTS = 1 << 20  # for algorithms that take many steps, each with a row of columns


@dataclass(frozen=True, slots=True)
class Rounding:
    """A quantized weight, and sums of squares of the layer's result and of its error.

    The result is that of some rows of the operand; without statistics, the sums are those of weights.
    """

    weight: QuantizedWeight
    signal: float
    noise: float


def round_weight(
    algorithm: Algorithm,
    weight: Array,
    block: int,
    grid: IntegerGrid,
    statistics: OperandStatistics | None,
) -> Rounding:
    """Quantizes a weight [terms, columns] of any floats; the integers are int8 or uint8.

    Raises numpy's LinAlgError for moments that are not finite.
    """
    terms, columns = weight.shape
    is_wide = statistics is not None and statistics.moments is not None
    count = max(1, (WIDE_PART_WEIGHTS if is_wide else PART_WEIGHTS) // max(terms, 1))
    parts = (weight[:, first:last] for first, last in bounds(columns, count))
    with ThreadPoolExecutor(affinity_count()) as threads:
        work = partial(round_columns, algorithm=algorithm, block=block, grid=grid, statistics=statistics)
        return join_columns(list(threads.map(work, parts)), block)


def bounds(columns: int, count: int) -> Iterator[tuple[int, int]]:
    """The first column of each part, and the one after its last."""
    yield from pairwise([*range(0, columns, count), columns])


def round_columns(
    weight: Array, algorithm: Algorithm, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> Rounding:
    part = np.ascontiguousarray(weight, np.float32)
    quantized = algorithm(part, block, grid, statistics)
    error = quantized.values() - part
    signal, noise = (sum_squares(x if statistics is None else statistics.rows @ x) for x in (part, error))
    integers = quantized.integers.astype(grid.storage)
    return Rounding(QuantizedWeight(integers, quantized.parameters, block), signal, noise)


def join_columns(parts: list[Rounding], block: int) -> Rounding:
    integers = np.concatenate([part.weight.integers for part in parts], axis=1)
    scales = np.concatenate([part.weight.parameters.scales for part in parts], axis=1)
    zero_points = np.concatenate([part.weight.parameters.zero_points for part in parts], axis=1)
    weight = QuantizedWeight(integers, GridParameters(scales, zero_points), block)
    return Rounding(weight, sum(part.signal for part in parts), sum(part.noise for part in parts))


def sum_squares(array: Array) -> float:
    flat = array.reshape(-1)
    return float(np.vdot(flat, flat))
