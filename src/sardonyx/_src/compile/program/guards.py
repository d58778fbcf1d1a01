"""Guards: relations between dims that compilation assumed, and that every run checks."""

from __future__ import annotations

from typing import NamedTuple

from sardonyx._src.ir.dims import Known


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
