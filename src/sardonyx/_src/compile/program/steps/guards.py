"""Guards: relations between dims that compilation assumed, and that every run checks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from sardonyx._src.ir.dims import Known, known_equal


class Guard(NamedTuple):
    """Two dims that must be equal; a run in which they differ bails out to the reference engine."""

    left: Known
    right: Known

    @classmethod
    def of(cls, a: Known, b: Known) -> Guard:
        """The guard of two dims, the same in either order: a number is on the right."""
        in_order = not isinstance(a, int) and (isinstance(b, int) or a.text <= b.text)
        return cls(a, b) if in_order else cls(b, a)

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"


@lru_cache(maxsize=1024)
def can_hold(guard: Guard) -> bool:
    """Whether a guard may hold in some run.  Cached, since the verifiers of regions and of the program both ask."""
    return known_equal(*guard) is not False
