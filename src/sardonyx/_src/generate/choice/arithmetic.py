"""Exponentials and sums of which every bit is the same on every machine.

NumPy's exponential differs in the last bit between processors, so that a draw that falls between two tokens could choose
either.  Additions, multiplications and divisions of float64 are exact by IEEE 754.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.ir import Array

LN2_HIGH, LN2_LOW = (
    0.6931471803691238,
    1.9082149292705877e-10,
)  # the first has 33 bits: products by integers are exact
TERMS = 13  # of the series of exp for |r| <= ln(2)/2, which then is right to a bit or two of float64
LOWEST = -708.0  # exp of less is no normal number; 0 is returned


def exp(x: Array) -> Array:
    """exp(x) for x <= 0, in float64: 2**n exp(r) with x = n ln 2 + r, and the series of exp(r) (Horner)."""
    is_positive = x >= LOWEST
    x = np.where(is_positive, x, 0.0)
    n = np.floor(x * (1 / math.log(2)) + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    result = np.ones_like(r)
    for term in range(TERMS, 0, -1):
        result *= r
        result /= term
        result += 1.0
    return np.where(is_positive, np.ldexp(result, n.astype(np.int32)), 0.0)


def probabilities(logits: Array) -> Array:
    """The softmax of logits [vocabulary] float64.  Logits of -inf have the probability 0; those with a NaN have none but NaN."""
    weights = exp(logits - logits.max())
    with np.errstate(invalid="ignore"):
        result: Array = weights / running_sum(weights)[-1]
    return result


def running_sum(values: Array) -> Array:
    """The sums of the first 1, 2, ... values, added one by one."""
    return np.add.accumulate(values)
