"""Software prefetch of rows of keys and values, a few cache lines with each step of a product.

A core that issues many prefetches at once stalls until its fill buffers accept them.  A core that issues none has no reads
in flight while it computes.  So each step of a product prefetches its share of a later row.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.loops.vectors import i64, prefetch
from sardonyx._src.compile.kernels.tuning import tuning_for


class PrefetchStream:
    """Prefetches rows of keys or values in address order; a row consists of the adjacent rows of all heads of a unit."""

    def __init__(self, b: KernelBuilder, base: str, row_length: LLVMValue, row_stride: LLVMValue) -> None:
        """base: the address of the first row; row_length, row_stride: the length and the stride of rows, in floats."""
        self.b, self.base = b, base
        self.row_length, self.row_stride = row_length, row_stride
        self.position, self.row_end = (b.new_slot(name, I64) for name in ("position", "row_end"))
        tuning = tuning_for(b.target).attention
        rows, min_rows = b.udiv(i64(b, tuning.prefetch_floats), row_length + 1), tuning.min_prefetch_rows
        self.distance = b.select(rows < min_rows, min_rows, rows)

    def seek(self, row: LLVMValue) -> None:
        """Continues with the row that is `distance` rows after `row`; row: the row that the product reads next."""
        first = (row + self.distance) * self.row_stride
        self.b.store(self.position, first)
        self.b.store(self.row_end, first + self.row_length)

    def prefetch(self, lines: int, step: LLVMValue | None = None) -> None:
        """Prefetches the next `lines` cache lines; advances past them, or by `step` floats."""
        b = self.b
        position, row_end = b.load(self.position), b.load(self.row_end)
        for i in range(lines):
            prefetch(b, b.gep(self.base, position + CACHE_LINE_FLOATS * i))
        position = position + (CACHE_LINE_FLOATS * lines if step is None else step)
        is_past_row = position >= row_end
        next_row = position + (self.row_stride - self.row_length)
        b.store(self.position, b.select(is_past_row, next_row, position))
        b.store(self.row_end, b.select(is_past_row, row_end + self.row_stride, row_end))
