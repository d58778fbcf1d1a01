"""Integers with scales and zero points: the values that a quantized weight can have.

A weight [terms, columns] is divided along its terms into blocks that share a scale and a zero point for each column, as
DequantizeLinear-21 reads them: weight = (integer - zero point) * scale.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

LEAST_SCALE = float(np.finfo(np.float32).tiny)  # of a block of zeros


@dataclass(frozen=True, slots=True)
class IntegerGrid:
    """The integers of a scheme.

    bits: 4 or 8.
    symmetric: signed integers without a zero point; else unsigned ones with one for each block.
    """

    bits: int
    symmetric: bool

    @property
    def dtype(self) -> DataType:
        return DataType[f"{'INT' if self.symmetric else 'UINT'}{self.bits}"]

    @property
    def storage(self) -> np.dtype[np.int8] | np.dtype[np.uint8]:
        """The NumPy type of a byte that holds an integer."""
        return np.dtype(np.int8) if self.symmetric else np.dtype(np.uint8)

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1)) if self.symmetric else 0

    @property
    def greatest(self) -> int:
        return self.least + (1 << self.bits) - 1


@dataclass(frozen=True, slots=True)
class GridParameters:
    """The scales of some columns, and their zero points; float32 and int32 of one shape."""

    scales: Array
    zero_points: Array


def range_parameters(least: Array, greatest: Array, grid: IntegerGrid) -> GridParameters:
    """The parameters with which a grid spans ranges; each range is extended to zero, which has an integer of its own.

    least, greatest: float32 of one shape.
    """
    if grid.symmetric:
        extent = np.maximum(np.abs(least), np.abs(greatest)) / np.float32(grid.greatest)
        scales = np.maximum(extent, np.float32(LEAST_SCALE))
        return GridParameters(scales, np.zeros(scales.shape, np.int32))
    low, high = np.minimum(least, 0), np.maximum(greatest, 0)
    scales = np.maximum((high - low) / np.float32(grid.greatest), np.float32(LEAST_SCALE))
    zero_points = np.clip(np.rint(-low / scales), grid.least, grid.greatest)
    return GridParameters(scales, zero_points.astype(np.int32))


def round_to_grid(weights: Array, parameters: GridParameters, grid: IntegerGrid) -> Array:
    """The nearest integers, as int32; those beyond the grid become its ends.  The parameters broadcast."""
    integers = np.rint(weights / parameters.scales) + parameters.zero_points
    return np.asarray(np.clip(integers, grid.least, grid.greatest), np.int32)


def dequantize(integers: Array, parameters: GridParameters) -> Array:
    """The float32 weights that integers stand for.  The parameters broadcast."""
    distances = np.asarray(integers - parameters.zero_points, np.float32)
    return np.asarray(distances * parameters.scales)
