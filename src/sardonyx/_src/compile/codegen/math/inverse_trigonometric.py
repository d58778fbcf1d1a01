"""atan, asin and acos: odd polynomials on a reduced range.

atan(x) = pi/2 - atan(1/x) above 1, and asin(x) = pi/2 - 2*asin(sqrt((1-x) / 2)) above sqrt(1/2).
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.function import vector_function

HALF_PI = 1.57079637050628662109375  # pi/2 as float32
HALF_PI_ERROR = 4.371138828673793e-08  # HALF_PI - pi/2
# atan(x) = x + x*s*P(s), s = x*x, for |x| <= 1; the error is 2^-26.9 of it.
ATAN_COEFFICIENTS = (
    -0.333333,
    0.19998549,
    -0.14264242,
    0.10952186,
    -0.0840345,
    0.057957586,
    -0.031177837,
    0.010914601,
    -0.0017936205,
)
# asin(x) = x + x*s*P(s), s = x*x, for s <= 1/2; the error is 2^-27.2 of it.
ASIN_COEFFICIENTS = (
    0.16666622,
    0.075026825,
    0.044081777,
    0.035991218,
    -0.008057782,
    0.11033013,
    -0.13996838,
    0.12611489,
)
ROOT_HALF = 0.70710677


@vector_function
def atan(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse tangent, within 1.5 ulp; odd to the bit, pi/2 of infinity."""
    magnitude = builder.fabs(x)
    is_large = magnitude > 1
    reduced = builder.select(is_large, 1 / magnitude, magnitude)
    square = reduced * reduced
    angle = builder.fma(reduced * square, builder.horner(square, ATAN_COEFFICIENTS), reduced)
    return builder.copysign(builder.select(is_large, complement(angle), angle), x)


@vector_function
def asin(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse sine, within 1.5 ulp; odd to the bit, NaN beyond 1."""
    is_small, angle = reduced_asin(builder, builder.fabs(x))
    return builder.copysign(builder.select(is_small, angle, complement(angle * 2)), x)


@vector_function
def acos(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The inverse cosine, within 1.5 ulp; NaN beyond 1."""
    is_small, angle = reduced_asin(builder, builder.fabs(x))
    far = builder.select(x < 0, 2 * HALF_PI - (angle * 2 + 2 * HALF_PI_ERROR), angle * 2)
    return builder.select(is_small, complement(builder.copysign(angle, x)), far)


def reduced_asin(builder: FunctionBuilder, magnitude: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """Whether |x| <= sqrt(1/2), and asin(|x|) there; elsewhere asin(sqrt((1-|x|) / 2))."""
    is_small = magnitude <= ROOT_HALF
    half = (1 - magnitude) * 0.5
    square = builder.select(is_small, magnitude * magnitude, half)
    root = builder.select(is_small, magnitude, builder.call_intrinsic("sqrt", half))
    return is_small, builder.fma(root * square, builder.horner(square, ASIN_COEFFICIENTS), root)


def complement(angle: LLVMValue) -> LLVMValue:
    """pi/2 - angle."""
    return HALF_PI - (angle + HALF_PI_ERROR)
