"""The exponential of online softmax: exp(score - maximum), and the factor that rescales earlier sums to a new maximum.

Both have arguments <= 0, which saves the overflow handling of `codegen.math.exponential`.  Online softmax: Milakov and
Gimelshein, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.exponential import (
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUNDER,
    expm1_polynomial,
    power_of_two,
    split_rounded,
)
from sardonyx._src.compile.codegen.math.function import VectorFunction

MIN_EXPONENT = -87.3  # its exponential is slightly above 2^-126, the smallest normal float


def emit_exp_nonpositive(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x <= 0, within 1.0 ulp; 0 for x < -87.3."""
    bounded = x.clamp_min(MIN_EXPONENT)
    count, n = split_rounded(builder, builder.fma(bounded, LOG2_E, ROUNDER))
    r = builder.fma(count, -LN2_LOW, builder.fma(count, -LN2_HIGH, bounded))
    result = (expm1_polynomial(builder, r) + 1) * power_of_two(n)
    return builder.select(x < MIN_EXPONENT, 0.0, result)


# Kernels name the function `decay`: the weights of earlier keys decay as the maximum grows.
exp_nonpositive = VectorFunction("decay", 1, emit_exp_nonpositive, emit_exp_nonpositive.__doc__)
