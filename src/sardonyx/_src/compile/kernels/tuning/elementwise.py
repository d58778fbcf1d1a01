"""Tuning of elementwise kernels; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ElementwiseTuning:
    """Elementwise kernels."""

    # Vectors of an iteration.
    unroll: int = 4
    # Vectors of an iteration with one call of a vector function each, which are joined.
    unroll_one_function: int = 2

    # --- Shared ---

    # The approximate number of elements of a unit of work.
    unit_elements: ClassVar[int] = 4096
    # Rows of a matrix with at least this many elements are worth a separate loop.
    min_row_elements: ClassVar[int] = 64
    # A call of a vector function counts as this many operations.
    function_operations: ClassVar[int] = 20
