"""Dot products of one row with many: y [lanes] = rows [lanes, count] @ a [count], for rows with contiguous elements.

Vectors run along `count`; each row has a vector of partial sums, and the sums of `lanes` rows are reduced together by a
transposition.  Four rows are accumulated at a time, while the next four are prefetched.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.kernels.gemm.vector_emitter import VectorKernelEmitter

INDEPENDENT_SUMS = 4  # rows accumulated at a time: independent chains hide the latency of a multiply-add


class DotProductEmitter(VectorKernelEmitter):
    """A vector kernel emitter with dot products of contiguous rows."""

    def dot_rows(self, a: str, rows: list[str], count: LLVMValue) -> LLVMValue:
        """The dot products of a row of `count` floats with `lanes` rows, one in each lane."""
        sums: list[LLVMValue] = []
        for start in range(0, self.lanes, INDEPENDENT_SUMS):
            prefetched = rows[start + INDEPENDENT_SUMS : start + 2 * INDEPENDENT_SUMS]
            sums += self.accumulate_rows(a, rows[start : start + INDEPENDENT_SUMS], prefetched, count)
        return self.sum_each(sums)

    def accumulate_rows(
        self, a: str, rows: list[str], prefetched: list[str], count: LLVMValue
    ) -> list[LLVMValue]:
        """For each row a vector of partial sums, whose lanes add up to the dot product; prefetches further rows."""
        slots = [self.new_slot("dot", self.vector_type) for _ in rows]
        for slot in slots:
            self.store(slot, self.constant(0.0, self.vector_type))

        def add(i: LLVMValue, mask: LLVMValue | None) -> None:
            for row in prefetched:
                self.prefetch(self.gep(row, i))
            factor = self.load_vector(self.gep(a, i), mask)
            for row, slot in zip(rows, slots, strict=True):
                self.store(slot, self.fma(factor, self.load_vector(self.gep(row, i), mask), self.load(slot)))

        self.loop_vectors(count, add)
        return [self.load(slot) for slot in slots]
