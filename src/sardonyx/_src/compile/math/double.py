"""log2 and exp2 as doubles, for functions that multiply many rounded factors or magnify an error."""

from __future__ import annotations

import math

from sardonyx._src.compile.text import Code, Value

LOG2_E = 1.4426950408889634
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2), where octaves begin
ROUNDER = 6755399441055744.0  # 1.5 * 2^52: what is added to it loses its fraction, and its last bits are the integer
BIASED = ROUNDER + 1023  # whose last bits are the exponent of 1
# log2((1+s) / (1-s)) = s*LOG2(s*s) from sqrt(1/2) to sqrt(2); the error is 2^-45 of it.
LOG2 = (
    2.88539008177785,
    0.9617966941136264,
    0.5770779422637548,
    0.4122092638751879,
    0.31990518232795684,
    0.2829080507864328,
)
# exp2(r) for |r| <= 1/2; the error is 2^-29 of it.
EXP2 = (
    1.0000000005552858,
    0.6931472057687327,
    0.2402264688357246,
    0.05550328707745398,
    0.00961848955138816,
    0.0013399958868384433,
    0.00015345704114372373,
)


def log2(code: Code, x: Value) -> Value:
    """The logarithm to base 2 of floats x >= 0, zero, infinity and NaN too, within 2^-45 of it."""
    bits = x.converted("fpext", "double").bits()
    octave = (bits - ROOT_HALF) >> 52
    m = (bits - (octave << 52)).bits()
    s = (m - 1) / (m + 1)
    whole = octave.converted("trunc", "i32").converted("sitofp", "double")
    found = code.fma(s, code.polynomial(s * s, LOG2), whole)
    found = code.select(x < math.inf, found, x.converted("fpext", "double"))
    return code.select(x.equals(0), -math.inf, found)


def exp2(code: Code, x: Value) -> Value:
    """2 to the power x for |x| < 1000, within 2^-29 of it."""
    lifted = x + BIASED
    return code.polynomial(x - (lifted - BIASED), EXP2) * (lifted.bits() << 52).bits()
