"""Dot products of one row with many: y [n] = rows [n, count] @ a [count], for rows with contiguous elements.

Vectors run along `count`; each row has a vector of partial sums (`summed_vector_type`), and the sums of n rows are reduced
together by a transposition.  Four rows are accumulated at a time, while the next four are prefetched.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import sum_each
from sardonyx._src.compile.kernels.loops.rows import summed_vector_type
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors, prefetch
from sardonyx._src.compile.kernels.tuning import tuning_for


def dot_rows(b: KernelBuilder, a: str, rows: list[str], count: LLVMValue) -> LLVMValue:
    """The dot products of a row of `count` floats with n rows, one in each lane; n: a power of two, at most a register's lanes."""
    sums: list[LLVMValue] = []
    step = tuning_for(b.target).gemm.independent_sums
    for start in range(0, len(rows), step):
        middle, end = start + step, start + 2 * step
        sums += accumulate_rows(b, a, rows[start:middle], rows[middle:end], count)
    return sum_each(b, sums)


def accumulate_rows(
    b: KernelBuilder, a: str, rows: list[str], prefetched: list[str], count: LLVMValue
) -> list[LLVMValue]:
    """For each row a vector of partial sums, the lanes of which add up to the dot product; prefetches other rows."""
    vector_type = summed_vector_type(b.target)
    sums = [b.new_slot("dot", vector_type) for _ in rows]
    for slot in sums:
        b.store(slot, b.constant(0.0, vector_type))
    for i, mask in loop_vectors(b, 0, count, vector_type.lanes):
        for row in prefetched:
            prefetch(b, b.gep(row, i))
        factor = load_typed(b, vector_type, b.gep(a, i), mask)
        for row, slot in zip(rows, sums, strict=True):
            b.store(slot, b.fma(factor, load_typed(b, vector_type, b.gep(row, i), mask), b.load(slot)))
    return [b.load(slot) for slot in sums]
