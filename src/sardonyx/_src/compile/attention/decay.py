"""exp of what is not above 0: the weight of a score beside the greatest one."""

from __future__ import annotations

from sardonyx._src.compile.math.exponential import (
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUNDER,
    near,
    nearest,
    power_of_two,
)
from sardonyx._src.compile.math.function import function
from sardonyx._src.compile.text import Code, Value

LOWEST = -87.3  # the exponential is a bit more than 2^-126, the least normal float


@function
def decay(code: Code, x: Value) -> Value:
    """e to the power x <= 0, within 1.0 ulp; 0 for x < -87.3."""
    bounded = x.at_least(LOWEST)
    count, n = nearest(code, code.fma(bounded, LOG2_E, ROUNDER))
    r = code.fma(count, -LN2_LOW, code.fma(count, -LN2_HIGH, bounded))
    found = (near(code, r) + 1) * power_of_two(n)
    return code.select(x < LOWEST, 0.0, found)
