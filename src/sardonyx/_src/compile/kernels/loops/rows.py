"""Rows of contiguous elements: units of work, and unrolled loops over the vectors of a row.

The loop over a row runs over `row_unroll` vectors per iteration, then over single vectors, then over one masked vector:

    for v, index, mask in loop_unrolled_vectors(b, n, vector_type.lanes):
        x = load_vector_at(b, row, index, vector_type, mask)
        ...

The Python loop emits the code: its body runs once for each vector of each emitted loop, with v as the number of the vector in
its iteration, and must not be left by `break`.  A unit of work is a range of rows with about `row_unit_elements` elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.compile.codegen import I64, Element, LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops import vectors
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

SUMMED_BITS = 512  # a register of the widest targets


def rows_per_unit(n: Known) -> Known:
    """The number of rows of n elements in a unit of work."""
    return dim_max(1, ReductionTuning.row_unit_elements // dim_max(n, 1))


def num_units(rows: Known, n: Known) -> Known:
    """The number of units of work for a number of rows of n elements."""
    return ceil_div(rows, rows_per_unit(n))


def row_arguments(rows: IterationSpace, n: Known) -> dict[str, Known | tuple[Known, ...]]:
    """The arguments of kernels that loop over rows of n elements, by name."""
    return {"rows": rows.size, "unit_rows": rows_per_unit(n), "n": n, "dims": rows.to_arguments()}


def find_columns(space: IterationSpace) -> int | None:
    """The dim that is contiguous in all operands, so that its points share a vector; None if there is none."""
    return next((d for d in range(space.rank) if all(s[d] == 1 for s in space.strides)), None)


def full_vector_type(target: Target, element: Element = "float") -> LLVMType:
    """The vector of as many elements as a register of the target holds; at least one element."""
    return LLVMType(element, max(target.lanes * 32 // max(LLVMType(element).bits, 32), 1))


def summed_vector_type(target: Target, element: Element = "float") -> LLVMType:
    """The vector of partial sums of a row, which has as many lanes on every target with vectors.

    The lanes decide the order of a sum, and thus its rounding.  Narrower registers hold a part of the vector each.
    """
    return LLVMType(element, SUMMED_BITS // max(LLVMType(element).bits, 32) if target.lanes > 1 else 1)


def narrow_equal_lanes(b: KernelBuilder, value: LLVMValue) -> LLVMValue:
    """A vector of a register's lanes, of one that has the same number in all of its lanes."""
    lanes = b.target.lanes
    return value if value.type.lanes == lanes else shuffle(b, value, value, range(lanes))


def lane_numbers(b: KernelBuilder, vector_type: LLVMType) -> LLVMValue:
    """The constant 0, 1, 2, ..., one number in each lane."""
    lanes = ", ".join(f"{vector_type.element} {lane}" for lane in range(vector_type.lanes))
    return LLVMValue(b, vector_type, f"<{lanes}>" if vector_type.lanes > 1 else "0")


def lane_indices(b: KernelBuilder, first: LLVMValue, lanes: int) -> LLVMValue:
    """The indices of the elements of a vector: first, first + 1, ..."""
    return first if lanes == 1 else b.splat(first, lanes) + lane_numbers(b, LLVMType("i64", lanes))


# --- loops -----------------------------------------------------------------------------------


def loop_unrolled_vectors(
    b: KernelBuilder, n: LLVMValue, lanes: int, min_unrolled: int = 0
) -> Iterator[tuple[int, LLVMValue, LLVMValue | None]]:
    """The body of a loop over the vectors of a row of n elements.

    Yields the number of the vector in its iteration, below `row_unroll`; the index of its first element; and the mask of a
    partial vector, or None.
    min_unrolled: rows of fewer elements have one vector per iteration.
    """
    for i, count, mask in loop_vector_blocks(b, n, lanes, ReductionTuning.row_unroll, min_unrolled):
        for v in range(count):
            yield v, i + v * lanes, mask


def loop_vector_blocks(
    b: KernelBuilder, n: LLVMValue, lanes: int, unroll: int, min_unrolled: int = 0
) -> Iterator[tuple[LLVMValue, int, LLVMValue | None]]:
    """The body of loops over blocks of vectors of a row of n elements: blocks of `unroll` vectors, then smaller blocks.

    Yields the index of the first element of the block; its number of vectors; and the mask of a single partial vector, or
    None.
    """
    i = b.constant(0, I64)
    for count in sorted({unroll, min(unroll, ReductionTuning.row_unroll), 1}, reverse=True):
        end = b.select(n < min_unrolled, 0, n) if count > 1 and min_unrolled else n
        with b.loop(i, end, count * lanes) as i:
            yield i, count, None
    if lanes > 1:
        with b.if_then(i < n):
            yield i, 1, vectors.first_lanes(b, n - i, lanes)
