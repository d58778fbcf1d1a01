"""What multiplies the terms of a layer over the calibration data, as algorithms of quantization need it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sardonyx._src.ir import Array

DAMPING = 0.01  # of the mean of the diagonal of the moments, added to it


class OperandStatistics:
    """Sums over all rows of a layer's operands, and some of these rows.

    rows: float32 [rows, terms], at most `observation.SAMPLED_ROWS`.
    squares: float64 [terms], the sums of squares.
    moments: float64 [terms, terms], the sums of products; None for algorithms that do not use them.
    """

    def __init__(self, rows: Array, squares: Array, moments: Array | None = None) -> None:
        self.rows, self.squares, self.moments = rows, squares, moments

    @classmethod
    def of_rows(cls, rows: Array) -> OperandStatistics:
        """The statistics of one operand, [rows, terms]."""
        wide = rows.astype(np.float64)
        return cls(rows.astype(np.float32), np.square(wide).sum(axis=0), wide.T @ wide)

    @cached_property
    def inverse_factor(self) -> Array:
        """The upper Cholesky factor of the inverse of the damped moments, float32 [terms, terms]."""
        assert self.moments is not None, "algorithms that use moments are given them"
        damped = self.moments.copy()
        diagonal = np.einsum("ii->i", damped)
        diagonal += DAMPING * np.mean(diagonal)
        return np.asarray(np.linalg.cholesky(np.linalg.inv(damped)).T, np.float32)

    @cached_property
    def normal_moments(self) -> Array:
        """The moments over the mean of their diagonal, float32 [terms, terms]."""
        assert self.moments is not None, "algorithms that use moments are given them"
        return np.asarray(self.moments / np.mean(np.diagonal(self.moments)), np.float32)
