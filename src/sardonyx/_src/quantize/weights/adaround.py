"""Rounding up or down, whichever reduces the error of products with the calibration data.

Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization", 2020: each weight gets a share of the way up from
the integer below, a rectified sigmoid of a variable.  Adam minimizes the squared error of the layer's result by its
derivative in closed form, with a regularizer whose exponent falls, so that shares become 0 or 1.  At the end, single weights
are rounded the other way while that reduces the error, there and from the nearest integers; each column takes the better.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.operands import OperandStatistics

LEAST_SHARE, MOST_SHARE = -0.1, 1.1  # of the sigmoid before it is rectified, as published
REGULARIZER = 0.01  # lambda, as published
FIRST_EXPONENT, LAST_EXPONENT = 20.0, 2.0
WARM_UP = 0.2  # of the steps are without the regularizer
STEPS, RATE = (
    500,
    0.02,
)  # of Adam; fewer and longer ones than published, since the derivative is that of all data
LEAST_GAIN = (
    1e-4  # of rounding one weight the other way, of the mean square of the scales; less is rounding of sums
)
MOMENTUM, SQUARED_MOMENTUM, ADAM_EPSILON = 0.9, 0.999, 1e-8


def quantize_adaround(
    weight: Array, block: int, grid: IntegerGrid, statistics: OperandStatistics | None
) -> QuantizedWeight:
    """The squared error of products with the calibration data is at most that of `quantize_clipped`, which it is without data.

    No single weight has a neighboring integer with a smaller error.
    """
    nearest = quantize_clipped(weight, block, grid, statistics)
    if statistics is None or not np.any(statistics.squares):
        return nearest
    spread = nearest.spread()
    exact = weight / spread.scales + spread.zero_points
    choice = RoundingChoice(exact, spread.scales, grid, statistics.normal_moments)
    start = choice.of(nearest.integers)
    optimized, start = (choice.descend_flips(is_up) for is_up in (choice.optimize(), start))
    is_up = choice.better_columns(optimized, start)
    return QuantizedWeight(choice.integers(is_up), nearest.parameters, block)


@dataclass(frozen=True, slots=True)
class RoundingChoice:
    """The roundings of a weight [terms, columns].

    exact: the weight on the grid, float32.
    scales: of each weight.
    moments: float32 [terms, terms], of a mean diagonal of 1.
    """

    exact: Array
    scales: Array
    grid: IntegerGrid
    moments: Array

    @property
    def below(self) -> Array:
        """The lower one of two neighboring integers of the grid, as float32."""
        return np.asarray(np.clip(np.floor(self.exact), self.grid.least, self.grid.greatest - 1))

    def of(self, integers: Array) -> Array:
        """Which of given integers are above the lower neighbor, as float32."""
        return (integers > self.below).astype(np.float32)

    def integers(self, is_up: Array) -> Array:
        return (self.below + is_up).astype(np.int32)

    def errors(self, shares: Array) -> Array:
        """Of each weight."""
        return np.asarray((self.below + shares - self.exact) * self.scales)

    def losses(self, shares: Array) -> Array:
        """The squared error of the results of each column."""
        errors = self.errors(shares)
        return np.asarray(np.einsum("ij,ij->j", errors, self.moments @ errors))

    def better_columns(self, shares: Array, others: Array) -> Array:
        return np.where(self.losses(shares) < self.losses(others), shares, others)

    def optimize(self) -> Array:
        """The shares that Adam finds, rounded to 0 or 1."""
        fractions = np.clip(self.exact - self.below, 0.01, 0.99)
        inner = (fractions - LEAST_SHARE) / (MOST_SHARE - LEAST_SHARE)
        variables = np.log(inner / (1 - inner)).astype(np.float32)
        first, second = np.zeros_like(variables), np.zeros_like(variables)
        unit = np.square(self.scales).mean(axis=0)
        for step in range(1, STEPS + 1):
            gradient = self.gradient(variables, step / STEPS, unit)
            first += (1 - MOMENTUM) * (gradient - first)
            second += (1 - SQUARED_MOMENTUM) * (np.square(gradient) - second)
            mean, square = first / (1 - MOMENTUM**step), second / (1 - SQUARED_MOMENTUM**step)
            variables -= RATE * mean / (np.sqrt(square) + ADAM_EPSILON)
        return (sigmoid(variables) >= 0.5).astype(np.float32)

    def gradient(self, variables: Array, progress: float, unit: Array) -> Array:
        """The derivative of the squared error, in units of the mean square of a column's scales, and of the regularizer."""
        slopes = sigmoid(variables)
        shares = np.clip(slopes * (MOST_SHARE - LEAST_SHARE) + LEAST_SHARE, 0, 1)
        gradient = 2 * self.scales * (self.moments @ self.errors(shares)) / unit
        if progress > WARM_UP:
            rest = (1 - progress) / (1 - WARM_UP)
            exponent = LAST_EXPONENT + (FIRST_EXPONENT - LAST_EXPONENT) * rest
            centered = 2 * shares - 1
            slope = np.sign(centered) * np.abs(centered) ** np.float32(exponent - 1)
            gradient -= np.float32(2 * REGULARIZER * exponent) * slope
        is_inside = (shares > 0) & (shares < 1)
        return np.asarray(gradient * is_inside * slopes * (1 - slopes) * (MOST_SHARE - LEAST_SHARE))

    def descend_flips(self, is_up: Array) -> Array:
        """Rounds the best weight of each column the other way until none reduces the column's error."""
        is_up, columns = is_up.copy(), np.arange(is_up.shape[1])
        products = self.moments @ self.errors(is_up)
        diagonal = np.diagonal(self.moments)[:, None]
        least = -LEAST_GAIN * np.square(self.scales).mean(axis=0)
        while True:
            moves = np.where(is_up > 0, -self.scales, self.scales)
            changes = 2 * moves * products + np.square(moves) * diagonal
            terms = changes.argmin(axis=0)
            chosen = columns[changes[terms, columns] < least]
            if not chosen.size:
                return is_up
            terms = terms[chosen]
            products[:, chosen] += self.moments[:, terms] * moves[terms, chosen]
            is_up[terms, chosen] = 1 - is_up[terms, chosen]


def sigmoid(variables: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-variables)))
