"""Register tile accumulation: adds A @ B over a block of k to accumulators in vector registers, by rank-1 updates.

A step over k loads one row of a packed panel of B, `width` floats as vectors, broadcasts an element of each row of A, and
adds their outer product to the tile [rows, width].  Terms are added in the order of k, so that the bits of a sum do not
depend on the number of rows of the tile.  Source: Goto and van de Geijn (2008); the microkernel of BLIS.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import Element, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import convert
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.register_tile import RegisterTile

F32 = LLVMType("float")
CACHE_LINE_FLOATS = 16
MIN_UNROLLED_FMAS = 20  # multiply-adds in an iteration over k that hide the loop's own instructions


class AccumulatorEmitter(KernelBuilder):
    """Emits the initialization and accumulation of a register tile, and its transfer from and to memory.

    accumulators: for each row of the tile, a stack slot for each vector, which LLVM promotes to registers.
    half_type: the element type of B if it is of half precision; None for float32.
    """

    half_type: Element | None = None

    def __init__(self, tile: RegisterTile, target: Target) -> None:
        super().__init__(target)
        self.tile = tile
        self.vector_type = LLVMType("float", tile.lanes)
        self.accumulators = [
            [self.new_slot("sum", self.vector_type) for _ in range(tile.vectors)] for _ in range(tile.rows)
        ]

    def init_accumulators(self, rows: int, bias: str | None = None) -> None:
        """Initializes the accumulators with the bias [width] at an address, or with 0."""
        if bias is not None:
            self.load_accumulators(rows, bias, self.constant(0, I64))
            return
        for accumulators in self.accumulators[:rows]:
            for slot in accumulators:
                self.store(slot, self.constant(0.0, self.vector_type))

    def load_accumulators(self, rows: int, partial_sums: str, row_stride: LLVMValue | None = None) -> None:
        """Loads the accumulators from partial sums, whose rows are `row_stride` floats apart (the tile's width if None)."""
        for slot, memory in self.spill_slots(rows, partial_sums, row_stride):
            self.store(slot, self.load(memory))

    def spill_accumulators(self, rows: int, partial_sums: str, row_stride: LLVMValue | None = None) -> None:
        """Stores the accumulators as partial sums, for `load_accumulators`."""
        for slot, memory in self.spill_slots(rows, partial_sums, row_stride):
            self.store(memory, self.load(slot))

    def spill_slots(
        self, rows: int, partial_sums: str, row_stride: LLVMValue | None
    ) -> list[tuple[StackSlot, StackSlot]]:
        """Pairs of an accumulator and its memory among the partial sums."""
        row_stride = self.constant(self.tile.width, I64) if row_stride is None else row_stride
        pairs = []
        for r, sums in enumerate(self.accumulators[:rows]):
            row = self.gep(partial_sums, row_stride * r)
            for v, slot in enumerate(sums):
                pairs.append((slot, self.vector_slot(row, self.constant(v * self.tile.lanes, I64))))
        return pairs

    def accumulate(
        self,
        rows: Sequence[str],
        panel: str,
        k: LLVMValue,
        stride: LLVMValue | None = None,
        prefetch: str | None = None,
    ) -> None:
        """Adds A[r, :k] @ B[:k, :width] to the accumulators of each row r.

        rows: addresses of rows of A, whose elements are `stride` floats apart (1 if None).  panel: address of B [k, width].
        prefetch: an address from which on k cache lines are prefetched meanwhile.
        """
        unroll = max(1, MIN_UNROLLED_FMAS // (self.tile.vectors * len(rows)))
        unroll = 1 << unroll.bit_length() - 1  # a power of two
        first_left = self.constant(0, I64)
        if unroll > 1:

            def unrolled(i: LLVMValue) -> None:
                for offset in range(unroll):
                    self.rank1_update(rows, panel, i + offset, stride, prefetch)

            first_left = self.loop_call(first_left, k, unroll, unrolled, "k")

        self.loop_call(first_left, k, 1, lambda i: self.rank1_update(rows, panel, i, stride, prefetch), "k")

    def prefetch_l2(self, address: str, floats: LLVMValue) -> None:
        """Prefetches a float's cache line into L2; its address need not be readable."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        pointer = self.gep(address, floats)
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 2, i32 1)")

    def rank1_update(
        self, rows: Sequence[str], panel: str, k: LLVMValue, stride: LLVMValue | None, prefetch: str | None
    ) -> None:
        """Adds the outer product of column k of A and row k of B."""
        if prefetch is not None:
            self.prefetch_l2(prefetch, k * CACHE_LINE_FLOATS)
        base = k * self.tile.width
        b = [self.load_panel_vector(panel, base + v * self.tile.lanes) for v in range(self.tile.vectors)]
        a_index = k if stride is None else k * stride
        for row, accumulators in zip(rows, self.accumulators, strict=False):
            a = self.splat(self.load(StackSlot(self.gep(row, a_index), F32)), self.tile.lanes)
            for v, slot in enumerate(accumulators):
                self.store(slot, self.fma(a, b[v], self.load(slot)))

    def load_panel_vector(self, panel: str, index: LLVMValue) -> LLVMValue:
        """A vector of B as float32."""
        if self.half_type is None:
            return self.load(self.vector_slot(panel, index))
        half = self.load(
            StackSlot(self.panel_address(panel, index), self.vector_type.with_element(self.half_type))
        )
        return convert(self, half, "float")

    def panel_address(self, base: str, index: LLVMValue) -> str:
        """The address of an element of B."""
        return self.gep(base, index, "float" if self.half_type is None else "i16")

    @property
    def cache_line_elements(self) -> int:
        """How many elements of B a cache line has."""
        return CACHE_LINE_FLOATS if self.half_type is None else 2 * CACHE_LINE_FLOATS

    def vector_slot(self, base: str, index: LLVMValue) -> StackSlot:
        return StackSlot(self.gep(base, index), self.vector_type)
