"""Tuning of products of matrices; `tables.py` says what the kinds of values are.

A *term* is an index along the reduction (k), B the right operand, a *panel* a packed group of columns of B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GemmTuning:
    """Products of matrices, and the register tile of all GEMMs and convolutions."""

    # Rows of a register tile (MR), by the vectors of a row.  The vector registers would hold more rows, but the
    # addresses of these rows would not fit into the general registers.
    tile_rows: Mapping[int, int]
    # Relative cost of a multiply-add in tiles of few vectors, where the broadcast of an element of A serves only one
    # or two of them; 1 for numbers of vectors without an entry.
    narrow_tile_cost: Mapping[int, float] = field(default_factory=lambda: {1: 1.35, 2: 1.1})
    # Vectors of a row of the tile for a symbolic number of columns.
    dynamic_tile_vectors: int = 4
    # Multiply-adds in an iteration over k that hide the loop's own instructions.
    min_unrolled_fmas: int = 20
    # The least number of terms that are unrolled.
    min_unroll: int = 1
    # Rows of a dot product accumulated at a time: independent chains hide the latency of a multiply-add.
    independent_sums: int = 4
    # The row that is prefetched is this many rows after the row of a constant that is packed.
    packing_prefetch_rows: int = 8
    # B is not packed for products of at most this many rows, if they are wide enough.
    max_rows_in_place: int = 16
    # The least number of columns of a product for which a transposed A is copied: each panel reads it again.
    min_copied_columns: int = 192
    # An epilogue of at most this many operations is emitted for every vector of a tile.
    max_inline_operations: int = 8
    # A half-precision constant of at least this many bytes is not promoted to float32 when it is packed.
    min_half_bytes: int = 1 << 17
    # If an AMX tile has fewer words along k, of at most 16, vectors are faster.
    min_amx_words: int = 6
    # If rows have fewer words along k, vectors are faster, since AMX tiles are stored through memory.
    min_amx_row_words: int = 48
    # Products of fewer rows wait for the weights, so that vectors are as fast.
    min_amx_rows: int = 4

    # --- Rounding ---

    # Factors are rounded to bfloat16 only if a sum has at least this many terms.
    min_bf16_terms: ClassVar[int] = 16
    # KC, the maximum number of terms of a block that is summed from zero: with a panel of 64 columns, 128 KB of B.
    k_block: ClassVar[int] = 512

    # --- Shared ---

    # Terms that are added at once in a product of few rows, which memory limits: 32 KB of B.
    short_k_block: ClassVar[int] = 128
    # Prefetching at most this many bytes of B for each term delays no load; a power of two.
    sparse_prefetch_bytes: ClassVar[int] = 32
    # A B of at least this many bytes is assumed to be in memory, not in the level-2 cache.
    large_bytes: ClassVar[int] = 1 << 19
    # The prefetched column of a strided A is this many terms after the column that is multiplied.
    strided_prefetch_terms: ClassVar[int] = 8
    # Constants of products of fewer rows have no paired words, which take more bytes.
    min_paired_rows: ClassVar[int] = 4
    # The approximate number of rows of a unit of work in products of several matrices.
    unit_rows: ClassVar[int] = 48
    # The cost of an element of A that another core has written, relative to an element of a large B.
    shared_row_cost: ClassVar[int] = 3
    # The maximum number of rows of consecutive units that are computed together; at least the rows of a unit.  In products
    # by a large B they are fewer where the last cache does not hold them (`CachedCount`).
    max_rows: ClassVar[int] = 288
    # Rows of scratch past the last row of a unit: at least as many as any tile has.
    spare_rows: ClassVar[int] = 16
    # Tiles of at most this many rows have code for one row less.
    max_short_rows: ClassVar[int] = 8
    # The number of multiply-adds in flight: with fewer accumulators, they wait for each other.
    latency_accumulators: ClassVar[int] = 8
    # When a constant of at least this many bytes was packed, the pages of its file are released.
    min_released_bytes: ClassVar[int] = 1 << 16
    # A transposed A is copied if its columns are at least this many floats apart, and the product is wide enough.
    min_copied_stride: ClassVar[int] = 1024
    # The least number of columns of a product for which B is not packed.
    min_columns_in_place: ClassVar[int] = 32
    # In products of one row, the rows of B that are read at a time.
    vector_terms: ClassVar[int] = 4
    # In products of one row, the columns of a unit of work.
    vector_columns: ClassVar[int] = 1024
    # A product of at most this many columns is computed by dot products, if its sums are long enough.
    max_few_columns: ClassVar[int] = 4
    # The least number of terms of a sum, for each column, for which a product is computed by dot products.
    min_terms_per_column: ClassVar[int] = 8
    # Rows of a unit of work of a product that is computed by dot products; whole groups of 16.
    few_columns_unit_rows: ClassVar[int] = 64
    # Rows of a register tile of a product in float64.
    double_group_rows: ClassVar[int] = 4
    # Rows of a unit of work of a product in float64.
    double_unit_rows: ClassVar[int] = 64
    # Constant float64 matrices of at most this many elements are packed at compile time.
    max_double_elements: ClassVar[int] = 1 << 16
    # Rows of a unit of work for which a panel of other float64 matrices is copied.
    double_panel_rows: ClassVar[int] = 128
    # Terms for which a panel of other float64 matrices is copied.
    double_k_block: ClassVar[int] = 256
