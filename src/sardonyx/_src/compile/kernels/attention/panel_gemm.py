"""GEMM of prefill attention: C = factor * C + A * B, where B and C are panels of a few vectors of queries.

Both products of a panel use it, k * q and v' * p: rows of A are keys or columns of v, and columns of C are queries.
A is not packed: its elements are broadcast one by one, so it may have any strides.  Loop nest: register tiles of
`TILE_ROWS` rows by the width of the panel; for each k a column of A times a row of B.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen.blocks import I64, BlockBuilder, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.target import Target

# Rows of a register tile, by the target's vector registers and the vectors of a row of B.
TILE_ROWS = {32: {4: 6, 3: 8, 2: 8, 1: 8}, 16: {2: 6, 1: 8}}
REMAINDER_ROWS = (4, 2, 1)  # of the tiles after the last full one
SCALAR_FLOAT = LLVMType("float")


def panel_widths(target: Target) -> tuple[int, ...]:
    """The panel widths, in vectors, for which there are functions; the widest first."""
    return tuple(TILE_ROWS[32 if target.registers >= 32 else 16])


class PanelGemmEmitter(BlockBuilder):
    """Emits a function for panels of `vectors` vectors of queries:

    void name(ptr a, i64 row, i64 step, ptr b, i64 k, ptr c, i64 rows, ptr factor)

    A[r, i] is at a + r*row + i*step.  b: [k, width], c: [rows, width], factor: [width], or null for 0; then C is not
    read.
    """

    def __init__(self, vectors: int, target: Target) -> None:
        super().__init__(target.has_fma)
        self.vectors, self.lanes = vectors, target.lanes
        self.vector_type = LLVMType("float", target.lanes)
        self.tile_rows = TILE_ROWS[32 if target.registers >= 32 else 16][vectors]
        self.row, self.step, self.k, self.rows = (
            LLVMValue(self, I64, f"%{name}") for name in ("row", "step", "k", "rows")
        )

    def emit_function(self, name: str) -> str:
        """The definition of the function."""
        reached = self.constant(0, I64)
        for rows in (self.tile_rows, *(r for r in REMAINDER_ROWS if r < self.tile_rows)):
            reached = self.loop_call(reached, self.rows, rows, partial(self.emit_tile, rows=rows), "row")
        head = f"define internal void @{name}(ptr %a, i64 %row, i64 %step, ptr %b, i64 %k, ptr %c, i64 %rows, ptr %factor)"
        return "\n".join(
            (f"{head} noinline nounwind {{", "entry:", *self.allocas, *self.lines, " ret void", "}")
        )

    def emit_tile(self, first: LLVMValue, rows: int) -> None:
        """A register tile of C, from row `first`."""
        sums = [[self.new_slot("sum", self.vector_type) for _ in range(self.vectors)] for _ in range(rows)]
        tile = [self.row_vectors("%c", (first + r) * self.vectors * self.lanes) for r in range(rows)]
        self.initialize_sums(sums, tile)
        a_rows = [self.gep("%a", (first + r) * self.row) for r in range(rows)]
        self.loop_call(self.constant(0, I64), self.k, 1, lambda k: self.accumulate(k, a_rows, sums), "k")
        for vectors, slots in zip(tile, sums, strict=True):
            for vector, slot in zip(vectors, slots, strict=True):
                self.store(vector, self.load(slot))

    def row_vectors(self, base: str, index: LLVMValue) -> list[StackSlot]:
        """The vectors of a panel's row that begins at an index."""
        return [
            StackSlot(self.gep(base, index + v * self.lanes), self.vector_type) for v in range(self.vectors)
        ]

    def initialize_sums(
        self, sums: Sequence[Sequence[StackSlot]], tile: Sequence[Sequence[StackSlot]]
    ) -> None:
        """Sets the sums to factor * C, or to 0 if `factor` is null."""
        for slots in sums:
            for slot in slots:
                self.store(slot, self.constant(0.0, self.vector_type))
        has_factor = self.emit(LLVMType("i1"), "icmp ne ptr %factor, null")

        def load_scaled() -> None:
            factors = [self.load(vector) for vector in self.row_vectors("%factor", self.constant(0, I64))]
            for slots, vectors in zip(sums, tile, strict=True):
                for slot, vector, factor in zip(slots, vectors, factors, strict=True):
                    self.store(slot, self.load(vector) * factor)

        self.if_then_call(has_factor, load_scaled)

    def accumulate(self, k: LLVMValue, a_rows: Sequence[str], sums: Sequence[Sequence[StackSlot]]) -> None:
        """Adds the outer product of column k of A and row k of B."""
        b = [self.load(vector) for vector in self.row_vectors("%b", k * self.vectors * self.lanes)]
        offset = k * self.step
        for a_row, slots in zip(a_rows, sums, strict=True):
            a = self.splat(self.load(StackSlot(self.gep(a_row, offset), SCALAR_FLOAT)), self.lanes)
            for slot, vector in zip(slots, b, strict=True):
                self.store(slot, self.fma(a, vector, self.load(slot)))
