"""Print the coefficients of the polynomials in `sardonyx/compile/math`; needs mpmath.

    python tools/minimax.py [NAME ...]

Each is the polynomial of its degree whose largest weighted error over an interval is least (Remez: errors of equal
size and alternating sign at one point more than there are coefficients).  Coefficients are rounded to the element
type one after the other from the lowest, and the others are fitted anew after each, so that they make good for the
rounding.  The error printed is that of the rounded polynomial in exact arithmetic, as a power of two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

Real = Callable[[mpf], mpf]
POINTS = 600  # where the error is looked at
mp.prec = 160


@dataclass(frozen=True)
class Wanted:
    """A function over [low, high] and the weight of its error; `element` is what coefficients are rounded to."""

    of: Real
    weight: Real
    low: float
    high: float
    degree: int
    element: type[np.float32 | np.float64] = np.float32
    first: tuple[float, ...] = ()  # coefficients that are given


def rounded(wanted: Wanted) -> tuple[list[float], float]:
    """The coefficients from the lowest up, and the largest weighted error."""
    grid = [
        (mpf(wanted.low) + wanted.high) / 2
        + (mpf(wanted.high) - wanted.low) / 2 * mp.cos(mp.pi * (k + mpf(0.5)) / POINTS)
        for k in range(POINTS)
    ]
    values = [wanted.of(x) for x in grid]
    weights = [wanted.weight(x) for x in grid]
    fixed = list(wanted.first)
    while len(fixed) <= wanted.degree:
        rest = [v - mp.polyval(fixed[::-1], x) if fixed else v for x, v in zip(grid, values, strict=True)]
        found = remez(grid, rest, weights, range(len(fixed), wanted.degree + 1))
        fixed.append(float(wanted.element(float(found[0]))))
    errors = [
        abs(w * (mp.polyval(fixed[::-1], x) - v)) for x, v, w in zip(grid, values, weights, strict=True)
    ]
    return fixed, float(max(errors))


def remez(grid: list[mpf], values: list[mpf], weights: list[mpf], powers: range) -> list[mpf]:
    """The coefficients of these powers whose largest weighted error on the grid is least."""
    count = len(powers) + 1
    chosen = [round(k * (len(grid) - 1) / (count - 1)) for k in range(count)]
    for _ in range(60):
        rows = [[grid[i] ** p for p in powers] + [(-1) ** k / weights[i]] for k, i in enumerate(chosen)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[i] for i in chosen]))
        coefficients, level = list(solution[:-1]), abs(solution[len(powers)])
        errors = [
            w * (sum(c * x**p for c, p in zip(coefficients, powers, strict=True)) - v)
            for x, v, w in zip(grid, values, weights, strict=True)
        ]
        if max(map(abs, errors)) <= level * mpf("1.001"):
            break
        chosen = alternating(errors, count)
    return coefficients


def alternating(errors: list[mpf], count: int) -> list[int]:
    """The places of the extrema of alternating sign, `count` of them, the least dropped from the ends."""
    runs: list[int] = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    assert len(runs) >= count, f"{len(runs)} extrema where {count} are wanted"
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def series(term: Callable[[int], mpf]) -> Real:
    """The sum of term(k) * x^k, for small x."""
    return lambda x: mp.fsum(term(k) * x**k for k in range(90))


HALF_LN2 = float(mp.log(2) / 2) * 1.0001
LOG_LOW, LOG_HIGH = float(mp.sqrt(0.5)) - 1 - 1e-6, float(mp.sqrt(2)) - 1 + 1e-6

exp_rest = series(lambda k: 1 / mp.factorial(k + 2))
exp2_rest = series(lambda k: mp.log(2) ** (k + 1) / mp.factorial(k + 1))


def log_rest(f: mpf) -> mpf:
    """(log(1+f) - f + f*f/2) / f^3"""
    return (mp.log1p(f) - f + f * f / 2) / f**3


def erf_rest(s: mpf) -> mpf:
    """erf(x)/x - 1 of s = x*x"""
    x = mp.sqrt(s)
    return mp.erf(x) / x


APPROXIMATIONS = {
    "exp": Wanted(
        exp_rest, lambda r: abs(r * r / mp.expm1(r)), -HALF_LN2, HALF_LN2, 5
    ),  # 1 + r + r*r*q
    "exp short": Wanted(exp_rest, lambda r: r * r / mp.exp(r), -HALF_LN2, HALF_LN2, 4),
    "exp2": Wanted(exp2_rest, lambda r: abs(r) / mp.power(2, r), -0.5001, 0.5001, 5),
    "log": Wanted(log_rest, lambda f: abs(f**3 / mp.log1p(f)), LOG_LOW, LOG_HIGH, 8),
}


def main() -> None:
    for name in sys.argv[1:] or APPROXIMATIONS:
        coefficients, error = rounded(APPROXIMATIONS[name])
        print(f"{name}: error 2^{np.log2(error):.1f}")
        for c in coefficients:
            print(f"    {c.hex() if False else repr(c)},")


if __name__ == "__main__":
    main()
