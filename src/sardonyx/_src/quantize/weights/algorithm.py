"""What an algorithm of quantization gets and gives: the blocks of one weight, and statistics of what multiplies it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.grid import GridParameters, IntegerGrid, dequantize
from sardonyx._src.quantize.weights.operands import OperandStatistics


@dataclass(frozen=True, slots=True)
class QuantizedWeight:
    """A weight [terms, columns] as integers.

    integers: [terms, columns], of any integer type.
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
            spread_blocks(given.scales, self.block, terms),
            spread_blocks(given.zero_points, self.block, terms),
        )


# weight: float32 [terms, columns], some columns of a layer.  Columns are independent of one another in all algorithms.
# statistics: None without data.
Algorithm: TypeAlias = Callable[[Array, int, IntegerGrid, "OperandStatistics | None"], QuantizedWeight]


def block_starts(terms: int, block: int) -> range:
    return range(0, terms, block)


def spread_blocks(numbers: Array, block: int, terms: int) -> Array:
    """Numbers of blocks [blocks, columns] as those of their terms [terms, columns]."""
    return np.repeat(numbers, block, axis=0)[:terms]


def sum_blocks(numbers: Array, block: int) -> Array:
    """The sums over each block: [blocks, columns] of [terms, columns]."""
    return np.add.reduceat(numbers, block_starts(len(numbers), block), axis=0)


def split_blocks(numbers: Array, block: int) -> Array:
    """The terms of each block: [blocks, block, columns] of [terms, columns], with zeros after the last term."""
    terms, columns = numbers.shape
    rest = -terms % block
    padded = np.concatenate([numbers, np.zeros((rest, columns), numbers.dtype)]) if rest else numbers
    return padded.reshape(-1, block, columns)


def ranges_of_blocks(weight: Array, block: int) -> tuple[Array, Array]:
    """The least and the greatest element of each block and column: [blocks, columns]."""
    starts = block_starts(len(weight), block)
    return np.minimum.reduceat(weight, starts, axis=0), np.maximum.reduceat(weight, starts, axis=0)


def select_parameters(better: Array, then: GridParameters, otherwise: GridParameters) -> GridParameters:
    """The parameters `then` of the blocks that are better, and `otherwise` of the others."""
    return GridParameters(
        np.where(better, then.scales, otherwise.scales),
        np.where(better, then.zero_points, otherwise.zero_points),
    )
