"""Print the coefficients of the polynomials in `sardonyx/_src/compile/codegen/math`; needs mpmath.

    python tools/minimax.py [NAME ...]

Each is the minimax polynomial of its degree: it minimizes the largest weighted error over an interval (Remez: errors of
equal size and alternating sign at one more point than there are coefficients).  Coefficients are rounded to the element
type one after the other from the lowest, and the others are refitted after each to compensate for the rounding.  The
printed error is that of the rounded polynomial in exact arithmetic, as a power of two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from mpmath import mp, mpf

Real = Callable[[mpf], mpf]
GRID_POINTS = 600
mp.prec = 160


@dataclass(frozen=True)
class Target:
    """A function to approximate over [low, high], the weight of its error, and the element type of coefficients."""

    of: Real
    weight: Real
    low: float
    high: float
    degree: int
    element: type[np.float32 | np.float64] = np.float32
    first: tuple[float, ...] = ()  # fixed lowest coefficients
    refitted: bool = True  # whether each rounding is compensated by the remaining coefficients


def fit(target: Target) -> tuple[list[float], float]:
    """The rounded coefficients from the lowest up, and the largest weighted error."""
    grid = [
        (mpf(target.low) + target.high) / 2
        + (mpf(target.high) - target.low) / 2 * mp.cos(mp.pi * (k + mpf(0.5)) / GRID_POINTS)
        for k in range(GRID_POINTS)
    ]
    values = [target.of(x) for x in grid]
    weights = [target.weight(x) for x in grid]
    fixed = list(target.first)
    while len(fixed) <= target.degree:
        rest = [v - mp.polyval(fixed[::-1], x) if fixed else v for x, v in zip(grid, values, strict=True)]
        coefficients = remez(grid, rest, weights, range(len(fixed), target.degree + 1))
        certain = coefficients[:1] if target.refitted else coefficients
        fixed.extend(float(target.element(float(c))) for c in certain)
    errors = [
        abs(w * (mp.polyval(fixed[::-1], x) - v)) for x, v, w in zip(grid, values, weights, strict=True)
    ]
    return fixed, float(max(errors))


def remez(grid: list[mpf], values: list[mpf], weights: list[mpf], powers: range) -> list[mpf]:
    """The coefficients of these powers that minimize the largest weighted error on the grid."""
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
    """Indices of `count` extrema of alternating sign; surplus ones are dropped from the ends, smallest first.

    A pair of negligible extrema is dropped before: rounding errors change sign where a weight is zero.
    """
    runs: list[int] = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    assert len(runs) >= count, f"the errors must have {count} extrema; got {len(runs)}"
    sizes = [abs(errors[i]) for i in runs]
    least = min(range(len(runs) - 1), key=lambda i: max(sizes[i : i + 2]))
    if len(runs) > count + 1 and max(sizes[least : least + 2]) < max(sizes) / 50:
        del runs[least : least + 2]
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def series(term: Callable[[int], mpf]) -> Real:
    """The sum of term(k) * x^k, for small x."""
    return lambda x: mp.fsum(term(k) * x**k for k in range(90))


GELU_STEP = 0.41
HALF_LN2 = float(mp.log(2) / 2) * 1.0001
EIGHTH = float(mp.pi / 4) * 1.0001
LOG_LOW, LOG_HIGH = float(mp.sqrt(0.5)) - 1 - 1e-6, float(mp.sqrt(2)) - 1 + 1e-6

exp_rest = series(lambda k: 1 / mp.factorial(k + 2))

exp2_whole = series(lambda k: mp.log(2) ** k / mp.factorial(k))
sin_rest = series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3))
cos_rest = series(lambda k: (-1) ** k / mp.factorial(2 * k + 4))


def log_rest(f: mpf) -> mpf:
    """(log(1+f) - f + f*f/2) / f^3"""
    return (mp.log1p(f) - f + f * f / 2) / f**3


def erf_rest(s: mpf) -> mpf:
    """erf(x)/x - 1, of s = x*x"""
    x = mp.sqrt(s)
    return mp.erf(x) / x - 1


def tanh_rest(s: mpf) -> mpf:
    """(tanh(x)/x - 1) / s, of s = x*x"""
    x = mp.sqrt(s)
    return (mp.tanh(x) / x - 1) / s


def half_rest(r: mpf) -> mpf:
    """(exp(-r/2) - 1 + r/2) / r^2"""
    return (mp.expm1(-r / 2) + r / 2) / r**2


def beyond_square(a: mpf) -> mpf:
    """-2*log(Phi(-a)) - a*a; Phi is the normal distribution"""
    return -2 * mp.log(mp.erfc(a / mp.sqrt(2)) / 2) - a * a


def log2_ratio(q: mpf) -> mpf:
    """log2((1+s) / (1-s)) / s, of q = s*s"""
    s = mp.sqrt(q)
    return 2 * mp.atanh(s) / s / mp.log(2)


APPROXIMATIONS = {
    "exponential.REST": Target(
        exp_rest, lambda r: abs(r * r / mp.expm1(r)), -HALF_LN2, HALF_LN2, 5, first=(0.5,)
    ),
    "logarithm.REST": Target(log_rest, lambda f: abs(f**3 / mp.log1p(f)), LOG_LOW, LOG_HIGH, 8),
    "erf.NEAR": Target(erf_rest, lambda s: 1 / (1 + erf_rest(s)), 1e-9, 1, 6),
    "erf.FAR": Target(lambda a: mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a), 1, 3.95, 6),
    "tanh.NEAR": Target(tanh_rest, lambda s: s / (1 + s * tanh_rest(s)), 1e-9, 0.5625**2, 4),
    "gelu.HALF": Target(half_rest, lambda r: r * r / mp.exp(-r / 2), -0.703, 0.703, 4),
    "double.LOG2": Target(log2_ratio, lambda q: 1 / log2_ratio(q), 1e-12, 0.02945, 5, np.float64),
    "double.EXP2": Target(exp2_whole, lambda r: 1 / mp.power(2, r), -0.5001, 0.5001, 6, np.float64),
    "circle.SIN": Target(sin_rest, lambda s: s**1.5 / mp.sin(mp.sqrt(s)), 1e-9, EIGHTH**2, 2),
    "circle.COS": Target(cos_rest, lambda s: s**2 / mp.cos(mp.sqrt(s)), 1e-9, EIGHTH**2, 2),
}


Column = tuple[list[float], float]  # a center and the coefficients around it, and the error


def gelu_pieces() -> Iterator[Column]:
    """The column of each piece of `beyond_square` in gelu, centered where its value is nearly a multiple of 2^-12."""
    starts = [2 + mpf(k) / 4 for k in range(8)] + [4 + mpf(k) / 2 for k in range(9)]
    edges = [(start - 2) / mpf(GELU_STEP) for start in starts]
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        near = round(beyond_square(middle) * 4096)
        firsts = [mpf(k) / 4096 for k in range(near - 20, near + 21)]
        options = [(single(mp.findroot(lambda a, v=v: beyond_square(a) - v, middle)), v) for v in firsts]
        center, first = min(options, key=lambda option: abs(beyond_square(mpf(option[0])) - option[1]))
        yield column(center, float(first), low, high)


def single(x: mpf) -> float:
    """The nearest float."""
    return float(np.float32(float(x)))


def column(center: float, first: float, low: mpf, high: mpf) -> Column:
    """The polynomial of degree 5 with this first coefficient.

    The other coefficients are rounded without a new fit of the rest, which is small where its error would matter.
    """
    target = Target(
        lambda d: (beyond_square(center + d) - first) / d,
        lambda d: abs(d) / 2,
        float(low - center),
        float(high - center),
        4,
        refitted=False,
    )
    others, error = fit(target)
    return [center, first, *others], error


def print_pieces() -> None:
    """Prints `gelu.PIECES` row by row, from its columns."""
    columns, errors = zip(*gelu_pieces(), strict=True)
    print(f"gelu.PIECES: errors {' '.join(f'2^{np.log2(e):.1f}' for e in errors)}")
    for row in zip(*columns, strict=True):
        print(f"    ({', '.join(str(np.float32(c)) for c in row)}),")


def main() -> None:
    for name in sys.argv[1:] or (*APPROXIMATIONS, "gelu.PIECES"):
        if name == "gelu.PIECES":
            print_pieces()
            continue
        coefficients, error = fit(APPROXIMATIONS[name])
        print(f"{name}: error 2^{np.log2(error):.1f}")
        for c in coefficients:
            print(f"    {APPROXIMATIONS[name].element(c)!s},")


if __name__ == "__main__":
    main()
