"""What an algorithm of quantization gets and gives: the blocks of one weight, and statistics of what multiplies it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.grid import GridParameters, IntegerGrid, dequantize


@dataclass(frozen=True, slots=True)
class QuantizedWeight:
    """A weight [terms, columns] as integers.

    integers: int32 [terms, columns].
    parameters: scales and zero points [blocks, columns].
    block: the number of terms that share a scale; the last block may have fewer.
    """

    integers: Array
    parameters: GridParameters
    block: int

    def values(self) -> Array:
        """The float32 weight that the integers stand for."""
        return dequantize(self.integers, self.spread())

    def spread(self) -> GridParameters:
        """The parameters of each term: [terms, columns]."""
        terms, given = len(self.integers), self.parameters
        return GridParameters(
            np.repeat(given.scales, self.block, axis=0)[:terms],
            np.repeat(given.zero_points, self.block, axis=0)[:terms],
        )


# weight: float32 [terms, columns].  moments: the sums of products of the operand's columns over the calibration data, float64
# [terms, terms]; None without data.
Algorithm: TypeAlias = Callable[[Array, int, IntegerGrid, "Array | None"], QuantizedWeight]


def block_starts(terms: int, block: int) -> range:
    return range(0, terms, block)


def ranges_of_blocks(weight: Array, block: int) -> tuple[Array, Array]:
    """The least and the greatest element of each block and column: [blocks, columns]."""
    starts = block_starts(len(weight), block)
    return np.minimum.reduceat(weight, starts, axis=0), np.maximum.reduceat(weight, starts, axis=0)
