"""Guards: relations between dims that compilation assumed, and that every run checks."""

from __future__ import annotations

from typing import NamedTuple

from sardonyx._src.ir.dims import Known


class Guard(NamedTuple):
    """Two dims that must be equal; a run in which they differ bails out to the reference engine."""

    left: Known
    right: Known

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"
