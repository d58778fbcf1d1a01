"""Packs a computed right operand of an integer GEMM: panels of int8x4 words, and the sums of its columns.

Loop nest: units of work (panels) -> vectors of columns -> words of four rows.  A full panel is packed by registers of bytes
with all of its columns where the target can (`int8_interleave.py`).  128 is subtracted from unsigned bytes, since the
microkernel multiplies by int8.  The last word is padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import ONES, Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.integer.int8_interleave import (
    ROW,
    VECTORS,
    interleave_rows,
    interleaves_rows,
)
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import INT8_PER_WORD
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels, choose_panel_tile
from sardonyx._src.compile.kernels.loops.vectors import i64, load_typed, loop_vectors, store_vector
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div, dim_product

PARAMETERS = Parameters("b", "packed", "sums", "k", "columns", "panels")
SIGN_BIT = 0x80


@dataclass(frozen=True, slots=True)
class PackedProductOperand:
    """A right operand b [..., K, N] as panels of words of int8 elements, and the sums of its columns, [..., 1, N] int32.

    The elements are those of b, minus 128 if b is unsigned.
    """

    panels: Panels
    sums: TensorView
    step: Step


def pack_int8_tensor(b: TensorView, target: Target, name: str = "") -> PackedProductOperand:
    """The panels and column sums of b [..., K, N] uint8 or int8, dense, and the step that computes them."""
    *batch, k, columns = b.shape
    assert b.is_dense, f"the operand must be dense; got {b}"
    tile = choose_panel_tile(columns, target)
    num_panels, words = ceil_div(columns, tile.width), ceil_div(k, INT8_PER_WORD)
    packed = dense_temporary(DataType.INT32, (*batch, num_panels, words, tile.width), name)
    sums = dense_temporary(DataType.INT32, (*batch, 1, columns), f"{name}/sums")
    is_signed = b.dtype is DataType.INT8
    source = partial(int8_packing_module, vectors=tile.vectors, is_signed=is_signed)
    step = Step(
        Kernel(f"panels_int8_{tile.vectors}_{is_signed}", source, PARAMETERS),
        PARAMETERS.pack(b=b, packed=packed, sums=sums, k=k, columns=columns, panels=num_panels),
        dim_product(batch) * num_panels,
        (b,),
        (packed, sums),
        flops=b.num_elements,
        bytes_accessed=b.nbytes + packed.nbytes,
    )
    return PackedProductOperand(Panels(packed, tile, columns), sums, step)


def int8_packing_module(name: str, target: Target, vectors: int, *, is_signed: bool) -> str:
    b, width = KernelBuilder(target, PARAMETERS), vectors * target.lanes
    source, packed, sums = b.pointers("b", "packed", "sums")
    k, columns, panels = b.integers("k", "columns", "panels")
    words, panel_words = b.udiv(k, INT8_PER_WORD), b.udiv(k + (INT8_PER_WORD - 1), INT8_PER_WORD)
    int32s = LLVMType("i32", target.lanes)
    total = b.new_slot("total", int32s)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        item, panel = b.udivmod(unit, panels)
        first = panel * width
        start, total_row = item * k * columns + first, b.gep(sums, item * columns + first, "i32")
        target_panel = b.gep(packed, unit * panel_words * width, "i32")
        count = b.min(columns - first, width)
        if interleaves_rows(vectors, target):
            is_full = count.eq(width)
            with b.if_then(is_full):
                panel_packer = PanelPacker(b, b.gep(source, start, "i8"), k, columns, target_panel, is_signed)
                panel_packer.pack(words, panel_words, total_row)
            count = b.select(is_full, i64(b, 0), count)
        for column, mask in loop_vectors(b, 0, count):
            b.store(total, b.constant(0, int32s))
            packer = WordPacker(b, b.gep(source, start + column, "i8"), k, columns, mask, total, is_signed)
            target_column = b.gep(target_panel, column, "i32")
            with b.loop(i64(b, 0), words, name="word") as word:
                store_vector(b, packer.pack(word), b.gep(target_column, word * width, "i32"))
            with b.loop(words, panel_words, name="last_word") as word:
                store_vector(b, packer.pack_last(word), b.gep(target_column, word * width, "i32"))
            store_vector(b, b.load(total), b.gep(total_row, column, "i32"), mask)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class PanelPacker:
    """Packs the k rows of a full panel that begins at `start`, in registers of whole rows."""

    b: KernelBuilder
    start: str
    k: LLVMValue
    columns: LLVMValue
    target_panel: str
    is_signed: bool

    def pack(self, words: LLVMValue, panel_words: LLVMValue, sums: str) -> None:
        """Packs all words and stores the sums of columns; the last word may have fewer than four rows."""
        b, int32s = self.b, LLVMType("i32", self.b.target.lanes)
        totals = [b.new_slot("total", int32s) for _ in range(VECTORS)]
        for total in totals:
            b.store(total, b.constant(0, int32s))
        with b.loop(i64(b, 0), words, name="word") as word:
            rows = [self.load_row(word * INT8_PER_WORD + i) for i in range(INT8_PER_WORD)]
            self.store_words(word, rows, totals)
        with b.loop(words, panel_words, name="last_word") as word:
            rows = []
            for i in range(INT8_PER_WORD):
                row = word * INT8_PER_WORD + i
                exists = row < self.k
                loaded = self.load_row(b.min(row, self.k - 1))
                rows.append(b.select(exists, loaded, b.constant(0, ROW)))
            self.store_words(word, rows, totals)
        for i, total in enumerate(totals):
            store_vector(b, b.load(total), b.gep(sums, i64(b, i * int32s.lanes), "i32"))

    def load_row(self, row: LLVMValue) -> LLVMValue:
        """The bytes of a row as the microkernel reads them: as int8, after 128 was subtracted from uint8."""
        number = self.b.load(MemoryLocation(self.b.gep(self.start, row * self.columns, "i8"), ROW))
        return number if self.is_signed else number ^ -SIGN_BIT

    def store_words(
        self, word: LLVMValue, rows: Sequence[LLVMValue], totals: Sequence[MemoryLocation]
    ) -> None:
        b, dot, lanes = self.b, Int8DotEmitter(self.b, self.b.target), self.b.target.lanes
        target = b.gep(self.target_panel, word * (VECTORS * lanes), "i32")
        for i, (words, total) in enumerate(zip(interleave_rows(b, rows), totals, strict=True)):
            store_vector(b, words, b.gep(target, i64(b, i * lanes), "i32"))
            ones = dot.unpack_a(b.constant(ONES, words.type))
            b.store(total, dot.dot_accumulate(b.load(total), ones, dot.unpack_b(words)))


@dataclass(frozen=True, slots=True)
class WordPacker:
    """Packs the k rows of a vector of columns that begins at `start`, and adds them to `total`."""

    b: KernelBuilder
    start: str
    k: LLVMValue
    columns: LLVMValue
    mask: LLVMValue | None
    total: MemoryLocation
    is_signed: bool

    def pack(self, word: LLVMValue) -> LLVMValue:
        """The words of four rows."""
        return self.join([self.load_row(word * INT8_PER_WORD + i) for i in range(INT8_PER_WORD)])

    def pack_last(self, word: LLVMValue) -> LLVMValue:
        """The words at the end of the columns, which have fewer than four rows; missing rows are 0."""
        b, rows = self.b, []
        for i in range(INT8_PER_WORD):
            row = word * INT8_PER_WORD + i
            exists = row < self.k
            kept = b.select(exists, b.constant(0xFF, LLVMType("i32")), b.constant(0, LLVMType("i32")))
            rows.append(self.load_row(b.min(row, self.k - 1)) & b.splat(kept, b.target.lanes))
        return self.join(rows)

    def load_row(self, row: LLVMValue) -> LLVMValue:
        """The bytes of a row as the microkernel reads them (int8), each in 32 bits."""
        b = self.b
        address = b.gep(self.start, row * self.columns, "i8")
        number = load_typed(b, LLVMType("i8", b.target.lanes), address, self.mask).convert("zext", "i32")
        return number if self.is_signed else number ^ SIGN_BIT

    def join(self, rows: Sequence[LLVMValue]) -> LLVMValue:
        """Words of a byte of each row; adds the bytes to the total, as int8."""
        b, dot = self.b, Int8DotEmitter(self.b, self.b.target)
        result = rows[0]
        for i, row in enumerate(rows[1:], 1):
            result = result | (row << (8 * i))
        ones = dot.unpack_a(b.constant(ONES, result.type))
        b.store(self.total, dot.dot_accumulate(b.load(self.total), ones, dot.unpack_b(result)))
        return result
