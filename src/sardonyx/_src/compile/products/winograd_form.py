"""Short convolutions by interpolation: how many numbers, at which points, and the instructions that go there and back.

A window of three over `inputs` numbers has `outputs` results.  Both are taken for polynomials; their product is known
from its values at as many points as there are inputs, the last of which is infinity.  The other points are 0 and pairs
of a number and its negative, whose even and odd halves are computed once for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.text import Code, Value

TAPS = 3
Doubles: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Form:
    """The points p of which p and -p are taken, besides 0 and infinity; float32 holds their powers exactly."""

    pairs: tuple[float, ...]

    @property
    def outputs(self) -> int:
        return 2 * len(self.pairs)

    @property
    def inputs(self) -> int:
        return self.outputs + TAPS - 1

    @property
    def points(self) -> list[float]:
        """The finite ones, in the order of their values."""
        return [0.0, *(signed for p in self.pairs for signed in (p, -p))]

    def weights(self) -> Doubles:
        """What takes three weights to their values at the points, [inputs, 3]: G, with the divisors of interpolation."""
        rows = []
        for p in self.points:
            divisor = np.prod([p - q for q in self.points if q != p])
            rows.append([p**i / divisor for i in range(TAPS)])
        return np.array([*rows, [0.0, 0.0, 1.0]])

    def there(self, code: Code, x: Sequence[Value]) -> list[Value]:
        """The values at the points of `inputs` numbers."""
        every = factors(self.pairs)
        values = [combined(code, every, x[0::2])]
        for p in self.pairs:
            others = factors([q for q in self.pairs if q != p])
            even, odd = combined(code, others, x[2::2]), combined(code, others, x[1:-1:2])
            values += [code.fma(odd, p, even), code.fma(odd, -p, even)]
        return [*values, combined(code, every, x[1::2])]

    def back(self, code: Code, values: Sequence[Value]) -> list[Value]:
        """The `outputs` results of products of values at the points."""
        pairs = list(zip(values[1:-1:2], values[2:-1:2], strict=True))
        sums, differences = [a + b for a, b in pairs], [a - b for a, b in pairs]
        results = []
        for i in range(self.outputs):
            terms = differences if i % 2 else sums
            results.append(combined(code, [p**i for p in self.pairs], terms))
        return [values[0] + results[0], *results[1:-1], results[-1] + values[-1]]


def factors(pairs: Sequence[float]) -> list[float]:
    """The coefficients of the product of all (y - p*p), the lowest term first."""
    return [float(c) for c in np.atleast_1d(np.poly([p * p for p in pairs]))[::-1]]


def combined(code: Code, coefficients: Sequence[float], terms: Sequence[Value]) -> Value:
    """The sum of coefficients times terms, from the last one down; one that is 1 costs nothing there."""
    *lower, highest = coefficients
    total = terms[len(lower)]
    if highest != 1:
        total = total * highest
    for c, term in zip(reversed(lower), reversed(terms[: len(lower)]), strict=True):
        total = total + term if c == 1 else code.fma(term, c, total)
    return total


FOUR = Form((0.625, 1.5))  # of simple fractions those with about the least error
TWO = Form((1.0,))
