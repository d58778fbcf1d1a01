"""Winograd transforms of one axis, F(m, 3): the matrices B^T, G and A^T of y = A^T [(G g) * (B^T d)].

A filter g of 3 taps over d [m + 2] has m outputs.  The algorithm is Toom-Cook's: the operands are read as polynomials, and
their product is interpolated from its values at m + 2 points: 0, pairs of p and -p, and infinity.  The even and the odd part
of a polynomial are computed once for both points of a pair.  G includes the divisors of the interpolation, since weights are
transformed at compile time.
Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.dataclass import dataclass

TAPS = 3


@dataclass(frozen=True, slots=True)
class WinogradTransform:
    """F(m, 3) at the points 0, p and -p for each p of `point_pairs`, and infinity; m is twice the number of pairs.

    The powers of the points must be exact in float32.
    """

    point_pairs: tuple[float, ...]

    @property
    def outputs(self) -> int:
        return 2 * len(self.point_pairs)

    @property
    def inputs(self) -> int:
        return self.outputs + TAPS - 1

    @property
    def finite_points(self) -> list[float]:
        """The points except infinity, in the order of the transformed values."""
        return [0.0, *(signed for p in self.point_pairs for signed in (p, -p))]

    def emit_weight_transform(self, taps: Sequence[LLVMValue]) -> list[LLVMValue]:
        """G taps: transforms 3 taps to the points; the factors include the divisors of the interpolation."""
        values = [taps[0] * (1 / self.weight_divisor(0.0))]
        for p in self.point_pairs:
            divisor = self.weight_divisor(p)  # that of -p, too
            even, odd = taps[0] * (1 / divisor) + taps[2] * (p * p / divisor), taps[1] * (p / divisor)
            values += [even + odd, even - odd]
        return [*values, taps[2]]

    def weight_divisor(self, point: float) -> float:
        """The divisor of the interpolation at a finite point."""
        return math.prod(point - other for other in self.finite_points if other != point)

    def emit_input_transform(self, builder: FunctionBuilder, x: Sequence[LLVMValue]) -> list[LLVMValue]:
        """B^T x: transforms `inputs` values to the points."""
        all_factors = squared_factors(self.point_pairs)
        values = [emit_linear_combination(builder, all_factors, x[0::2])]
        for p in self.point_pairs:
            other_factors = squared_factors([q for q in self.point_pairs if q != p])
            even, odd = (
                emit_linear_combination(builder, other_factors, x[2::2]),
                emit_linear_combination(builder, other_factors, x[1:-1:2]),
            )
            values += [builder.fma(odd, p, even), builder.fma(odd, -p, even)]
        return [*values, emit_linear_combination(builder, all_factors, x[1::2])]

    def emit_output_transform(self, builder: FunctionBuilder, values: Sequence[LLVMValue]) -> list[LLVMValue]:
        """A^T values: transforms products at the points to `outputs` values."""
        pairs = list(zip(values[1:-1:2], values[2:-1:2], strict=True))
        sums, differences = [a + b for a, b in pairs], [a - b for a, b in pairs]
        results = []
        for i in range(self.outputs):
            terms = differences if i % 2 else sums
            results.append(emit_linear_combination(builder, [p**i for p in self.point_pairs], terms))
        return [values[0] + results[0], *results[1:-1], results[-1] + values[-1]]


def squared_factors(pairs: Sequence[float]) -> list[float]:
    """The coefficients of the product of (y - p*p) over all pairs, the constant term first."""
    return [float(c) for c in np.atleast_1d(np.poly([p * p for p in pairs]))[::-1]]


def emit_linear_combination(
    builder: FunctionBuilder, coefficients: Sequence[float], terms: Sequence[LLVMValue]
) -> LLVMValue:
    """The sum of coefficients[i] * terms[i], added from the last term down; a coefficient of 1 needs no multiplication."""
    *lower, highest = coefficients
    total = terms[len(lower)]
    if highest != 1:
        total = total * highest
    for c, term in zip(reversed(lower), reversed(terms[: len(lower)]), strict=True):
        total = total + term if c == 1 else builder.fma(term, c, total)
    return total


F4X3 = WinogradTransform((0.625, 1.5))  # points with about the least rounding error among simple fractions
F2X3 = WinogradTransform((1.0,))
