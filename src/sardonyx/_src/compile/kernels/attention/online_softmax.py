"""Arithmetic of online softmax: maxima, exp(score - maximum), and the factor that rescales sums to a new maximum.

The arguments of both exponentials are <= 0, so that the overflow handling of `codegen.math.exponential` is not needed.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax".
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
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
from sardonyx._src.compile.kernels.loops.lanes import swap_lanes

MIN_EXPONENT = -87.3  # its exponential is slightly above 2^-126, the smallest normal float


def emit_exp_nonpositive(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """e to the power x <= 0, within 1.0 ulp; 0 for x < -87.3."""
    bounded = x.clamp_min(MIN_EXPONENT)
    count, n = split_rounded(builder, builder.fma(bounded, LOG2_E, ROUNDER))
    r = builder.fma(count, -LN2_LOW, builder.fma(count, -LN2_HIGH, bounded))
    result = (expm1_polynomial(builder, r) + 1) * power_of_two(n)
    return builder.select(x < MIN_EXPONENT, 0.0, result)


# The function is called `decay` in kernels, since the weights of earlier keys decay as the maximum grows.
exp_nonpositive = VectorFunction("decay", 1, emit_exp_nonpositive, emit_exp_nonpositive.__doc__)


def exp_below(b: KernelBuilder, score: LLVMValue, base: LLVMValue) -> LLVMValue:
    """exp(score - base) for a score that is at most the base."""
    return b.call_vector_function(exp_nonpositive, score - base)


def negative_infinity(b: KernelBuilder, lanes: int | None = None) -> LLVMValue:
    """-inf in every lane of a vector, which has those of a register by default."""
    return b.constant(float("-inf"), LLVMType("float", b.target.lanes if lanes is None else lanes))


def max_skipping_nan(b: KernelBuilder, a: LLVMValue, score: LLVMValue) -> LLVMValue:
    """max(a, score), but a if the score is NaN: the sum of the exponentials becomes NaN in any case."""
    return b.select(score > a, score, a)


def reduce_max(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
    """The maximum of all lanes, in every lane; no lane may be NaN."""
    distance = value.type.lanes // 2
    while distance:
        value = max_skipping_nan(b, value, swap_lanes(b, value, distance))
        distance //= 2
    return value


def softmax_base(b: KernelBuilder, maximum: LLVMValue) -> LLVMValue:
    """The number that softmax subtracts from scores: their maximum, or 0 if all of them are -inf."""
    return b.select(maximum.eq(float("-inf")), 0.0, maximum)


def reciprocal_sum(b: KernelBuilder, total: LLVMValue, num_keys: LLVMValue) -> LLVMValue:
    """1 / the sum of exponentials; 1 if there are no keys, so that the result is 0 and not NaN."""
    has_no_keys = b.splat(num_keys.eq(0), total.type.lanes)
    return b.select(has_no_keys, 1.0, 1.0 / total)


def is_not_positive(b: KernelBuilder, total: LLVMValue) -> LLVMValue:
    """Whether a sum of weights, equal in every lane, is not > 0: it is 0 or NaN."""
    return (first_lane(b, total) > 0).eq(0)


def first_lane(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
    if value.type.lanes == 1:
        return value
    return b.emit(LLVMType("float"), f"extractelement {value}, i32 0")
