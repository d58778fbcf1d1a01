"""Tuning of copies, transposes, gathers and scatters; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DataMovementTuning:
    """Copies, transposes, gathers and scatters."""

    # Vectors of an iteration of a copy.
    memcpy_unroll: int = 4

    # --- Shared ---

    # Elements of a unit of a copy: enough to amortize the call.
    copy_unit_elements: ClassVar[int] = 8192
    # Bytes of the rows in a unit of a gather or scatter.
    indexed_unit_bytes: ClassVar[int] = 32768
    # Rows of a unit of a gather or scatter if a row is one element.
    single_element_rows: ClassVar[int] = 1024
    # Columns of the result in a unit of a transpose.
    transpose_columns: ClassVar[int] = 1024
    # Rows of the result that a transpose writes together: the float32 elements of a cache line of its input.
    band_rows: ClassVar[int] = 16
