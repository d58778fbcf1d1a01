"""Loop nest of elementwise kernels: blocks of rows, and SIMD vectors along each row.

A unit of work is about `UNIT_ELEMENTS` elements: a segment of one long row, or several short rows.  Loop nest:

    for each row of the unit:                       strided addresses, advanced like an odometer
        for each `unroll` vectors of the row:       `row_segment`, interleaved to hide latency
        for each single vector of the remainder     masked where the target has cheap masks, else then scalar
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import HALF_TYPES, from_memory, memory_type
from sardonyx._src.compile.codegen.emit_expressions import BINARY_OPS, INTRINSIC_NAMES, UNARY_OPS
from sardonyx._src.compile.codegen.expressions import Apply, topological_order
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.elementwise.row_segment import RowSegmentEmitter
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseVariant
from sardonyx._src.compile.program.tensor import element_bytes

UNIT_ELEMENTS = 4096  # elements of a unit of work, approximately
# Operations of few instructions; the others are calls of vector functions.
CHEAP_OPERATIONS = {*INTRINSIC_NAMES, *UNARY_OPS, *BINARY_OPS, "lt", "le", "eq", "where", "fma", "clamp"}
UNROLL = 4  # vectors at once
UNROLL_ONE_FUNCTION = 2  # the same for a kernel with one vector function: two calls of it keep the core busy


class ElementwiseEmitter(KernelBuilder):
    """Emits the kernel of a variant; arguments are those of `ElementwiseVariant`."""

    def __init__(self, variant: ElementwiseVariant, target: Target) -> None:
        super().__init__(target)
        self.variant = variant
        widest = max(4 if o.dtype in HALF_TYPES else element_bytes(o.dtype) for o in variant.operands)
        self.lanes = max(target.lanes * 4 // widest, 1) if target.lanes > 1 else 1
        self.uses_masks = target.lanes == 16 or (
            target.lanes == 8 and self.lanes <= 8 and self.has_wide_elements
        )
        self.unroll = UNROLL_ONE_FUNCTION if len(expensive_operations(variant)) == 1 else UNROLL
        self._next_argument = len(variant.operands)
        self.length, self.rows, self.rows_per_unit = (self.next_argument() for _ in range(3))
        self.dims = [self.next_argument() for _ in range(variant.rank - 1)]
        self.strides = [[self.next_argument() for _ in range(variant.rank)] for _ in variant.operands]
        self.row_strides = [self.next_argument() if o.access == "far" else None for o in variant.operands]
        self.bases = [self.pointer_argument(i) for i in range(len(variant.operands))]

    @property
    def has_wide_elements(self) -> bool:
        """Whether all elements have at least 32 bits: 256-bit vectors have masked loads and stores of no others."""
        return all(element_bytes(o.dtype) >= 4 for o in self.variant.operands)

    def next_argument(self) -> LLVMValue:
        """The next size argument."""
        self._next_argument += 1
        return self.size_argument(self._next_argument - 1)

    # --- rows --------------------------------------------------------------------------------

    def emit_units(self) -> None:
        """All units: segments of one row, or blocks of rows, which are cut into segments if they are long."""
        if self.variant.rank == 0:
            first = self.first_unit * UNIT_ELEMENTS
            self.emit_row(self.bases, first, self.min(self.end_unit * UNIT_ELEMENTS, self.length))
            return
        segments = self.emit(I64, f"udiv {self.length + (UNIT_ELEMENTS - 1)}, {UNIT_ELEMENTS}")
        self.loop_call(self.first_unit, self.end_unit, 1, lambda unit: self.emit_unit(unit, segments), "unit")

    def emit_unit(self, unit: LLVMValue, segments: LLVMValue) -> None:
        """One segment of each row of a block; segments: their number in a row."""
        block = self.emit(I64, f"udiv {unit}, {segments.name}")
        first = (unit - block * segments) * UNIT_ELEMENTS
        end = self.min(first + UNIT_ELEMENTS, self.length)
        row = block * self.rows_per_unit
        indices = [self.new_slot("index", I64) for _ in self.dims]
        offsets = [self.new_slot("base", LLVMType("i64")) for _ in self.variant.operands]
        self.initialize_offsets(row, indices, offsets)

        def emit_next_row(_: LLVMValue) -> None:
            addresses = [
                self.gep(base, self.load(offset), memory_type(o.dtype).llvm_element)
                for base, offset, o in zip(self.bases, offsets, self.variant.operands, strict=True)
            ]
            self.emit_row(addresses, first, end)
            self.advance_offsets(len(self.dims), indices, offsets)

        self.loop_call(row, self.min(row + self.rows_per_unit, self.rows), 1, emit_next_row, "row")

    def initialize_offsets(self, row: LLVMValue, indices: list[StackSlot], offsets: list[StackSlot]) -> None:
        """Sets the indices of a row along all dims but the first, and its offset in each tensor."""
        inner: list[LLVMValue] = []
        for dim in reversed(self.dims):
            outer = self.emit(I64, f"udiv {row}, {dim.name}")
            inner.insert(0, row - outer * dim)
            row = outer
        for slot, index in zip(indices, inner, strict=True):
            self.store(slot, index)
        for slot, strides in zip(offsets, self.strides, strict=True):
            total = self.constant(0, I64)
            for index, stride in zip([row, *inner], strides, strict=True):
                total = total + index * stride
            self.store(slot, total)

    def advance_offsets(self, axis: int, indices: list[StackSlot], offsets: list[StackSlot]) -> None:
        """Moves to the next row along an axis; at its end wraps around and advances the next outer axis."""
        for offset, strides in zip(offsets, self.strides, strict=True):
            self.store(offset, self.load(offset) + strides[axis])
        if axis == 0:
            return
        dim, index = self.dims[axis - 1], indices[axis - 1]
        self.store(index, self.load(index) + 1)

        def wrap() -> None:
            self.store(index, self.constant(0, I64))
            for offset, strides in zip(offsets, self.strides, strict=True):
                self.store(offset, self.load(offset) - dim * strides[axis])
            self.advance_offsets(axis - 1, indices, offsets)

        self.if_then_call(self.load(index) >= dim, wrap)

    # --- along a row -------------------------------------------------------------------------

    def emit_row(self, addresses: list[str], first: LLVMValue, end: LLVMValue) -> None:
        """The elements `first` to `end` of a row: unrolled vectors, single vectors, then the remainder."""
        broadcast = {
            i: from_memory(self.load(StackSlot(addresses[i], memory_type(o.dtype))), o.dtype)
            for i, o in enumerate(self.variant.operands)
            if o.access == "same" and i >= len(self.variant.outputs)
        }

        def emit_segment(lanes: int, count: int) -> Callable[[LLVMValue], None]:
            return RowSegmentEmitter(
                self, self.variant, addresses, self.row_strides, broadcast, lanes, count
            ).emit_segment

        def emit_masked_vector(i: LLVMValue) -> None:
            mask = self.lane_mask(end - i, self.lanes)
            RowSegmentEmitter(
                self, self.variant, addresses, self.row_strides, broadcast, self.lanes, 1, mask
            ).emit_segment(i)

        step = self.lanes * self.unroll
        reached = self.loop_call(first, end, step, emit_segment(self.lanes, self.unroll), "vectors")
        if self.uses_masks:
            self.loop_call(reached, end + (self.lanes - 1), self.lanes, emit_masked_vector, "vector")
            return
        for lanes in dict.fromkeys((self.lanes, 1)):
            reached = self.loop_call(reached, end, lanes, emit_segment(lanes, 1), "vector")


def expensive_operations(variant: ElementwiseVariant) -> list[Apply]:
    """The operations of a variant that are calls of vector functions."""
    nodes = [node for value in variant.values for node in topological_order(value)]
    return [node for node in nodes if isinstance(node, Apply) and node.op not in CHEAP_OPERATIONS]
