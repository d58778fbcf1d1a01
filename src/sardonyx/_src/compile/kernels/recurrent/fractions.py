"""Sigmoid and tanh of float32 as fractions: cells divide once for a product of two of them.

    sigmoid(x) = 1 / (1 + exp(-x))        tanh(x) = e / (e + 1) with e = expm1(2|x|) / 2, and the sign of x

Range reduction is that of the vector functions.  Each is within 2.5 ulp, and a product of both within 4.
Denominators overflow where a sigmoid is below 2^-128, or 2^-99 in a product with tanh: these results are 0.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math import exponential, sigmoid
from sardonyx._src.compile.codegen.math.exponential import LN2_HIGH, LN2_LOW, LOG2_E
from sardonyx._src.dataclass import dataclass

HIGHEST = 88.0  # of sigmoid: the power of two has a biased exponent of 0, so it is 0
HIGHEST_EXPONENT = (
    127  # of sigmoid: where exp(-x) is larger, r exceeds its range until the denominator is infinite
)
SATURATED = 10.0  # of tanh: the result is 1
# (exp(2r) - 1) / 2 = r + r*r*P(r) for |r| <= ln(2)/4: the coefficients of exp(r) - 1, times powers of two
HALF_EXPM1_COEFFICIENTS = tuple(c * 2.0 ** (i + 1) for i, c in enumerate(exponential.EXPM1_COEFFICIENTS))


@dataclass(frozen=True, slots=True)
class Fraction:
    """numerator / denominator; None for 1."""

    numerator: LLVMValue | None
    denominator: LLVMValue | None = None

    def __mul__(self, other: Fraction) -> Fraction:
        return Fraction(
            multiply(self.numerator, other.numerator), multiply(self.denominator, other.denominator)
        )

    def value(self) -> LLVMValue:
        if self.denominator is None:
            assert self.numerator is not None, "a fraction must have a numerator or a denominator"
            return self.numerator
        return (1 if self.numerator is None else self.numerator) / self.denominator


def multiply(a: LLVMValue | None, b: LLVMValue | None) -> LLVMValue | None:
    """a * b; None for 1."""
    return b if a is None else a if b is None else a * b


def sigmoid_fraction(b: FunctionBuilder, x: LLVMValue) -> Fraction:
    """1 / (1 + exp(-x))."""
    bounded = x.clamp_max(HIGHEST)
    shifted = b.fma(bounded, -LOG2_E, sigmoid.BIASED).clamp_max(sigmoid.BIASED + HIGHEST_EXPONENT)
    n = shifted - sigmoid.BIASED
    r = b.fma(n, -LN2_LOW, b.fma(n, -LN2_HIGH, -bounded))
    power = (shifted.bitcast() << 23).bitcast()
    return Fraction(None, b.fma(sigmoid.expm1_estrin(b, r), power, power + 1))


def tanh_fraction(b: FunctionBuilder, x: LLVMValue) -> Fraction:
    """expm1(2|x|) / (expm1(2|x|) + 2) with the sign of x; both divided by 2."""
    magnitude = b.fabs(x).clamp_max(SATURATED)
    shifted = b.fma(magnitude, 2 * LOG2_E, sigmoid.BIASED)
    n = shifted - sigmoid.BIASED
    r = b.fma(n, -LN2_LOW / 2, b.fma(n, -LN2_HIGH / 2, magnitude))
    power = (shifted.bitcast() << 23).bitcast()
    e = b.fma(half_expm1(b, r), power, b.fma(power, 0.5, -0.5))
    return Fraction(b.copysign(e, x), e + 1)


def half_expm1(b: FunctionBuilder, r: LLVMValue) -> LLVMValue:
    """(exp(2r) - 1) / 2 for |r| <= ln(2)/4, by Estrin's scheme."""
    square, (c0, c1, c2, c3, c4, c5) = r * r, HALF_EXPM1_COEFFICIENTS
    low, middle, high = (b.fma(r, odd, even) for even, odd in ((c0, c1), (c2, c3), (c4, c5)))
    return b.fma(b.fma(square, b.fma(square, high, middle), low), square, r)
