"""Tuning of reductions, softmax and norms; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ReductionTuning:
    """Reductions, softmax and normalization of rows or columns; ranges for dynamic quantization."""

    # An ArgMax of rows has several accumulators if a row has at least this many vectors: merging them is slow.
    min_indexed_vectors: int = 16
    # Registers for each vector of a block of columns of an ArgMax.
    indexed_registers: int = 4

    # --- Rounding ---

    # Vectors of an iteration over a row, each with its own accumulator; a power of two.
    row_unroll: ClassVar[int] = 4
    # A column is summed in blocks of as many elements as the first number, and these blocks in blocks of as many as
    # the second.
    column_blocks: ClassVar[tuple[int, ...]] = (256, 16)
    # The least number of rows of a unit of work in which a row program sums columns.
    summed_rows: ClassVar[int] = 16

    # --- Shared ---

    # The approximate number of elements of the rows of a unit of work.
    row_unit_elements: ClassVar[int] = 4096
    # An ArgMax of rows with at most this many elements has a row, not an element, in each lane.
    gathered_row_elements: ClassVar[int] = 32
    # Other reductions with at most this many results have a row, not an element, in each lane.
    gathered_result_elements: ClassVar[int] = 16
    # Columns of a unit of work in kernels that reduce along columns.
    block_columns: ClassVar[int] = 256
    # Elements of a unit of work of a range.
    min_max_block: ClassVar[int] = 1 << 14
    # Matrices of a unit of work of determinants.
    unit_matrices: ClassVar[int] = 32
