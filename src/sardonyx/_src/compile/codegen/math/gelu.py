"""gelu: x times exp of -x*x/2, computed exactly, and of a slowly varying rest, a piecewise polynomial of 16 pieces."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER
from sardonyx._src.compile.codegen.math.function import vector_function
from sardonyx._src.compile.codegen.math.piecewise import NUM_PIECES, select_pieces

LOWEST = -14.6  # gelu is zero from there down
RESULT_SCALE_BITS = (
    64  # intermediate results are scaled by 2^64, so that only the final rounding can be subnormal
)
BIASED = ROUNDER + 127 + RESULT_SCALE_BITS  # its low bits are the biased exponent of 2^RESULT_SCALE_BITS
# The index of a piece: four bits of 2 + PIECE_SCALE*|x|, from the lowest bit of its exponent down.
PIECE_SCALE = 0.41
# Each column is a piece: its center c, then p0, p1, ... with -2*log(Phi(-a)) = a*a + p0 + p1*(a-c) + p2*(a-c)^2 + ...; the error
# is 2^-27 of Phi.  p0 has so few bits that its sum with a multiple of LN2_HIGH is exact.
LOG_CDF_PIECES = (
    (0.3022905, 0.9114032, 1.5248438, 2.1304867, 2.7423437, 3.358669, 3.973048, 4.5733337,
     5.4782104, 6.72193, 7.945784, 9.160175, 10.363769, 11.613848, 12.793268, 14.026992),
    (1.8374023, 2.5874023, 3.1835938, 3.6618652, 4.0646973, 4.409912, 4.708008, 4.9645996,
     5.3012695, 5.690674, 6.013672, 6.2907715, 6.532715, 6.756836, 6.947754, 7.129883),
    (1.3949443, 1.0864859, 0.86997473, 0.7175894, 0.6047597, 0.51935756, 0.4537432, 0.4030202,
     0.34403893, 0.2856229, 0.24429923, 0.2134178, 0.18954326, 0.16974454, 0.15447773, 0.14116843),
    (-0.30269417, -0.2097737, -0.14749801, -0.10685896, -0.079336636, -0.06039179, -0.047157545, -0.037820715,
     -0.028050115, -0.019636273, -0.014504973, -0.011140989, -0.008827031, -0.0071031004, -0.0058966833, -0.0049337265),
    (0.061243948, 0.04137948, 0.027252007, 0.018150734, 0.012276979, 0.008492166, 0.0060382094, 0.0044338866,
     0.0029008258, 0.0017361743, 0.0011174725, 0.00075920013, 0.0005388975, 0.00039089532, 0.00029669516, 0.00022769583),
    (-0.009163499, -0.0069621257, -0.0046484666, -0.0029888104, -0.0019071492, -0.0012260289, -0.000807947, -0.0005498085,
     -0.00032405302, -0.00016754387, -9.46416e-05, -5.718078e-05, -3.660289e-05, -2.380207e-05, -1.6631508e-05, -1.158886e-05),
    (0.0004934497, 0.000817968, 0.0006587686, 0.00044100595, 0.0002774574, 0.00017566123, 0.00010741322, 6.5592016e-05,
     3.6416386e-05, 1.67561e-05, 8.398245e-06, 4.522631e-06, 2.5897746e-06, 1.5817583e-06, 9.784512e-07, 6.4247683e-07),
)  # fmt: skip
# exp(-r/2) = 1 - r/2 + r*r*P(r) for |r| <= 0.703; the error is 2^-28 of it.
HALF_EXP_COEFFICIENTS = (0.124999985, -0.02083313, 0.0026042466, -0.00026158046, 2.1650629e-05)


@vector_function
def gelu(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """x * Phi(x) with the normal distribution Phi, within 1.9 ulp; subnormal results too.  NaN of -inf, as the product is."""
    a = builder.fabs(x).clamp_max(-LOWEST)
    shifted, r = scaled_cdf(builder, a)
    expm1 = r * builder.horner(r, (-0.5, *HALF_EXP_COEFFICIENTS))
    below = builder.fma(a, expm1, a) * (shifted.bitcast() << 23).bitcast()
    result = builder.fma(below, -(2.0**-RESULT_SCALE_BITS), x.clamp_min(-0.0))
    return builder.select(x.eq(-math.inf), math.nan, result)


def scaled_cdf(builder: FunctionBuilder, a: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """(n + BIASED, r) with Phi(-a) = 2^n * exp(-r/2) and |r| <= 0.703, for 0 <= a <= 14.6; n is an integer."""
    index = builder.fma(a, PIECE_SCALE, 2).bitcast() >> 20 & NUM_PIECES - 1
    center, first, second, *others = select_pieces(builder, "@sx_gelu", LOG_CDF_PIECES, index)
    d, (square, square_error) = a - center, exact_square(builder, a)
    shifted = builder.fma(builder.fma(d, second, square + first), -LOG2_E / 2, BIASED)
    n = shifted - BIASED
    slope = others.pop()
    for coefficient in (*reversed(others), second):
        slope = builder.fma(slope, d, coefficient)
    exact = builder.fma(n, 2 * LN2_HIGH, first) + square
    return shifted, exact + builder.fma(slope, d, builder.fma(n, 2 * LN2_LOW, square_error))


def exact_square(builder: FunctionBuilder, a: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """a*a as an unevaluated sum of two floats: the first within 2^-11 of it, the second rounded."""
    if builder.has_fma:
        square = a * a
        return square, builder.fma(a, a, -square)
    high = (a.bitcast() & -4096).bitcast()  # 12 bits: its square is exact
    return high * high, (a - high) * (a + high)
