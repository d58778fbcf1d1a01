"""GEMM of prefill attention: C = factor * C + A * B, where B and C are panels of a few vectors of queries.

Both products of a panel, k * q and v' * p, use this GEMM: rows of A are keys or columns of v, and columns of C are queries.
A is not packed: its elements are broadcast one by one, so it may have any strides.  Loop nest: register tiles of
`tile_rows` rows by the width of the panel; for each k a column of A times a row of B.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64, load_splat, vector_type, zeros
from sardonyx._src.compile.kernels.tuning import tuning_for


def panel_gemm_function(b: KernelBuilder, name: str, vectors: int) -> str:
    """The definition of a function for panels of `vectors` vectors of queries:

    void name(ptr a, i64 row, i64 step, ptr b, i64 k, ptr c, i64 rows, ptr factor)

    A[r, i] is at a + r*row + i*step.  b: [k, width], c: [rows, width], factor: [width], or null for 0; then C is not
    read.
    """
    first, rows, tuning = i64(b, 0), LLVMValue(b, I64, "%rows"), tuning_for(b.target).attention
    full_height = tuning.tile_rows[vectors]
    for height in (full_height, *(r for r in tuning.remainder_tile_rows if r < full_height)):
        with b.loop(first, rows, height, "row") as first:
            emit_tile(b, first, height, vectors)
    head = f"define internal void @{name}(ptr %a, i64 %row, i64 %step, ptr %b, i64 %k, ptr %c, i64 %rows, ptr %factor)"
    return "\n".join((f"{head} noinline nounwind {{", "entry:", *b.allocas, *b.lines, " ret void", "}"))


def emit_tile(b: KernelBuilder, first: LLVMValue, rows: int, vectors: int) -> None:
    """A register tile of C, from row `first`."""
    row, step, depth = (LLVMValue(b, I64, f"%{name}") for name in ("row", "step", "k"))
    sums = [[b.new_slot("sum", vector_type(b)) for _ in range(vectors)] for _ in range(rows)]
    tile = [row_vectors(b, "%c", (first + r) * vectors * b.target.lanes, vectors) for r in range(rows)]
    initialize_sums(b, sums, tile)
    a_rows = [b.gep("%a", (first + r) * row) for r in range(rows)]
    with b.loop(i64(b, 0), depth, name="k") as k:
        b_vectors = [b.load(memory) for memory in row_vectors(b, "%b", k * vectors * b.target.lanes, vectors)]
        offset = k * step
        for a_row, slots in zip(a_rows, sums, strict=True):
            a = load_splat(b, b.gep(a_row, offset))
            for slot, vector in zip(slots, b_vectors, strict=True):
                b.store(slot, b.fma(a, vector, b.load(slot)))
    for c_vectors, slots in zip(tile, sums, strict=True):
        for memory, slot in zip(c_vectors, slots, strict=True):
            b.store(memory, b.load(slot))


def row_vectors(b: KernelBuilder, base: str, index: LLVMValue, vectors: int) -> list[MemoryLocation]:
    """The vectors of a panel's row that begins at an index."""
    return [MemoryLocation(b.gep(base, index + v * b.target.lanes), vector_type(b)) for v in range(vectors)]


def initialize_sums(
    b: KernelBuilder, sums: Sequence[Sequence[MemoryLocation]], tile: Sequence[Sequence[MemoryLocation]]
) -> None:
    """Sets the sums to factor * C, or to 0 if `factor` is null."""
    for slots in sums:
        for slot in slots:
            b.store(slot, zeros(b))
    has_factor = b.emit(LLVMType("i1"), "icmp ne ptr %factor, null")
    with b.if_then(has_factor):
        factors = [b.load(vector) for vector in row_vectors(b, "%factor", i64(b, 0), len(sums[0]))]
        for slots, vectors in zip(sums, tile, strict=True):
            for slot, vector, factor in zip(slots, vectors, factors, strict=True):
                b.store(slot, b.load(vector) * factor)
