"""Software prefetch of rows of keys and values, a few cache lines with each step of a product.

A core that issues many prefetches at once stalls until its fill buffers accept them; one that issues none has no reads in
flight while it computes.  So each step of a product prefetches its share of a later row.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.attention.attention_emitter import AttentionEmitter
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS

PREFETCH_FLOATS = 2304  # distance from the row in use to the row that is prefetched
MIN_PREFETCH_ROWS = 8  # the same distance in rows, at least: those that are in use


class PrefetchStream:
    """Prefetches rows of keys or values in address order; a row has those of all heads of a unit."""

    def __init__(
        self, emitter: AttentionEmitter, base: str, row_length: LLVMValue, row_stride: LLVMValue
    ) -> None:
        """base: the address of the first row; row_length, row_stride: in floats."""
        self.emitter, self.base = emitter, base
        self.row_length, self.row_stride = row_length, row_stride
        self.position, self.row_end = (emitter.new_slot(name, I64) for name in ("place", "end"))
        rows = emitter.udiv(emitter.i64(PREFETCH_FLOATS), row_length + 1)
        self.distance = emitter.select(rows < MIN_PREFETCH_ROWS, emitter.i64(MIN_PREFETCH_ROWS), rows)

    def seek(self, row: LLVMValue) -> None:
        """Continues at the row that is `distance` rows after `row`, which is used next."""
        first = (row + self.distance) * self.row_stride
        self.emitter.store(self.position, first)
        self.emitter.store(self.row_end, first + self.row_length)

    def prefetch(self, lines: int, step: LLVMValue | None = None) -> None:
        """Prefetches the next cache lines; advances past them, or by `step` floats."""
        emitter = self.emitter
        position, row_end = emitter.load(self.position), emitter.load(self.row_end)
        for i in range(lines):
            emitter.prefetch(emitter.gep(self.base, position + CACHE_LINE_FLOATS * i))
        position = position + (CACHE_LINE_FLOATS * lines if step is None else step)
        is_past_row = position >= row_end
        next_row = position + (self.row_stride - self.row_length)
        emitter.store(self.position, emitter.select(is_past_row, next_row, position))
        emitter.store(self.row_end, emitter.select(is_past_row, row_end + self.row_stride, row_end))
