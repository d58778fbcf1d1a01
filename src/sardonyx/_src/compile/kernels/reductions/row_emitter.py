"""Base of row kernels: unrolled vector loops along a row, a masked remainder, and accumulators in registers.

A row is a contiguous range of elements.  Its loop runs over ROW_UNROLL vectors per iteration, then single vectors, then
one masked vector.  Reductions keep ROW_UNROLL independent accumulators, to hide the latency of the operation, and
combine them pairwise at the end; the order depends on the sizes alone, so that results are reproducible.
A unit of work is a range of rows with about ROW_UNIT_ELEMENTS elements.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.strided_loops import LoopDims, StridedLoopEmitter
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

ROW_UNROLL = 4  # vectors of an iteration
ROW_UNIT_ELEMENTS = 4096  # of a unit of work
BLOCK_COLUMNS = 256  # of a unit of work, in kernels that reduce along columns
NEG_INFINITY = -math.inf
# body(first element, number of vectors, mask of the last vector or None)
VectorBody: TypeAlias = Callable[[LLVMValue, int, "LLVMValue | None"], None]
Combine: TypeAlias = Callable[[LLVMValue, LLVMValue], LLVMValue]


def rows_per_unit(n: Known) -> Known:
    """The number of rows of n elements in a unit of work."""
    return dim_max(1, ROW_UNIT_ELEMENTS // dim_max(n, 1))


def num_units(rows: Known, n: Known) -> Known:
    """The number of units of work for a number of rows of n elements."""
    return ceil_div(rows, rows_per_unit(n))


def float32_bits(number: float) -> int:
    """A float32 as a kernel argument, which the kernel loads by `RowEmitter.load_float_argument`."""
    bits: int = struct.unpack("<i", struct.pack("<f", number))[0]
    return bits


class RowEmitter(StridedLoopEmitter):
    """Emits a kernel over rows of one element type, in vectors of `lanes` elements."""

    def __init__(self, target: Target, element: Element = "float") -> None:
        super().__init__(target)
        self.element: Element = element
        self.lanes = max(target.lanes // (2 if element in ("double", "i64") else 1), 1)
        self.scalar_type, self.vector_type = LLVMType(element), LLVMType(element, self.lanes)
        self.zero = self.constant(0, I64)

    def load_float_argument(self, index: int) -> LLVMValue:
        """Loads the argument with this index, the bits of a float32."""
        address = self.gep("%args", self.constant(index, I64), "i64")
        return self.emit(LLVMType("float"), f"load float, ptr {address}, align 8")

    # --- loops -------------------------------------------------------------------------------

    def loop_unit_rows(
        self,
        rows: LLVMValue,
        unit_rows: LLVMValue,
        dims: LoopDims,
        body: Callable[[LLVMValue, list[LLVMValue]], None],
    ) -> None:
        """Runs body(row, offsets) for the rows of all units of the call; unit_rows: rows of a unit."""
        first, end = self.min(self.first_unit * unit_rows, rows), self.min(self.end_unit * unit_rows, rows)
        self.loop_rows(dims, first, end, body)

    def loop_vectors(self, n: LLVMValue, body: VectorBody, unroll: int = ROW_UNROLL) -> None:
        """Runs body(i, vectors, mask) over the vectors of a row of n elements, `unroll` at a time, then fewer."""
        done = self.zero
        for vectors in sorted({unroll, min(unroll, ROW_UNROLL), 1}, reverse=True):
            done = self.loop_full_vectors(done, n, vectors, body)
        if self.lanes > 1:
            self.if_then_call(done < n, lambda: body(done, 1, self.prefix_mask(n - done, self.lanes)))

    def loop_full_vectors(self, first: LLVMValue, n: LLVMValue, vectors: int, body: VectorBody) -> LLVMValue:
        """Runs the body without masks while all vectors of an iteration fit; returns the first element left out."""
        return self.loop_call(first, n, vectors * self.lanes, lambda i: body(i, vectors, None), "at")

    # --- memory ------------------------------------------------------------------------------

    def element_pointer(self, base: str, offset: LLVMValue) -> str:
        """The name of the pointer `offset` elements after a base."""
        return self.gep(base, offset, self.element)

    def load_vector(
        self, base: str, index: LLVMValue, mask: LLVMValue | None, otherwise: float = 0
    ) -> LLVMValue:
        """Loads the vector at base[index]; lanes outside of the mask have the value `otherwise`."""
        address = self.element_pointer(base, index)
        if mask is None:
            return self.load(StackSlot(address, self.vector_type))
        return self.masked_load_or(address, mask, self.constant(otherwise, self.vector_type))

    def store_vector(self, value: LLVMValue, base: str, index: LLVMValue, mask: LLVMValue | None) -> None:
        """Stores a vector at base[index], only the lanes in the mask if there is one."""
        address = self.element_pointer(base, index)
        if mask is None:
            self.store(StackSlot(address, self.vector_type), value)
        else:
            self.masked_store_at(value, address, mask)

    # --- reduction ---------------------------------------------------------------------------

    def new_accumulators(self, initial: float, count: int = ROW_UNROLL) -> list[StackSlot]:
        """Vector accumulators with an initial value in every lane, one for each vector of an iteration."""
        slots = [self.new_slot("part", self.vector_type) for _ in range(count)]
        for slot in slots:
            self.store(slot, self.constant(initial, self.vector_type))
        return slots

    def reduce_accumulators(self, combine: Combine, accumulators: Sequence[StackSlot]) -> LLVMValue:
        """Combines accumulators pairwise, then the lanes of the result: a scalar.  Their number is a power of two."""
        values = [self.load(slot) for slot in accumulators]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [combine(a, b) for a, b in pairs]
        return self.reduce_lanes(combine, values[0])

    def max_or_second(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """The maximum; b if either is NaN, as x86 `maxps` does."""
        return self.select(a > b, a, b)

    def broadcast(self, value: LLVMValue) -> LLVMValue:
        """A vector with the scalar in every lane."""
        return self.splat(value, self.lanes)
