"""Packs a computed right operand of an integer GEMM: panels of int8x4 words, and the sums of its columns.

Loop nest: units of work (panels) -> vectors of columns -> words of four rows.  Unsigned bytes are lowered by 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.packed_int8 import INT8_PER_WORD
from sardonyx._src.compile.kernels.gemm.panels import Panels, choose_panel_tile
from sardonyx._src.compile.kernels.vectors import i64, load_typed, loop_vectors, store_vector, urem
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView, dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div, dim_product

PARAMETERS = Parameters("b", "packed", "sums", "words", "k", "columns", "panels")
SIGN_BIT = -128


@dataclass(frozen=True, slots=True)
class PackedProductOperand:
    """A right operand b [..., K, N] as panels of words of int8 elements, and the sums of its columns, [..., 1, N] int32.

    The elements are those of b, minus 128 if b is unsigned.
    """

    panels: Panels
    sums: TensorView
    step: Step


def pack_int8_tensor(b: TensorView, target: Target, name: str = "") -> PackedProductOperand:
    """b: [..., K, N] uint8 or int8, dense, with a constant K."""
    *batch, k, columns = b.shape
    assert isinstance(k, int) and b.is_dense, f"the operand must be dense, with constant rows; got {b}"
    tile = choose_panel_tile(columns, target)
    num_panels, words = ceil_div(columns, tile.width), -(-k // INT8_PER_WORD)
    packed = dense_temporary(DataType.INT32, (*batch, num_panels, words, tile.width), name)
    sums = dense_temporary(DataType.INT32, (*batch, 1, columns), f"{name}/sums")
    remainder, is_signed = k % INT8_PER_WORD, b.dtype is DataType.INT8
    source = partial(int8_packing_module, vectors=tile.vectors, remainder=remainder, is_signed=is_signed)
    step = Step(
        Kernel(f"panels_int8_{tile.vectors}_{remainder}_{is_signed}", source, PARAMETERS),
        PARAMETERS.pack(
            b=b, packed=packed, sums=sums, words=k // INT8_PER_WORD, k=k, columns=columns, panels=num_panels
        ),
        dim_product(batch) * num_panels,
        (b,),
        (packed, sums),
        flops=b.num_elements,
        bytes_accessed=b.nbytes + packed.nbytes,
    )
    return PackedProductOperand(Panels(packed, tile, columns), sums, step)


def int8_packing_module(name: str, target: Target, vectors: int, remainder: int, *, is_signed: bool) -> str:
    """remainder: the rows of the last word if it is not full, which the words of the argument do not include."""
    b, width = KernelBuilder(target, PARAMETERS), vectors * target.lanes
    source, packed, sums = b.pointers("b", "packed", "sums")
    words, k, columns, panels = b.integers("words", "k", "columns", "panels")
    word_vector = LLVMType("i32", target.lanes)
    total = b.new_slot("total", word_vector)
    panel_words = words + (1 if remainder else 0)
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        item, panel = b.udiv(unit, panels), urem(b, unit, panels)
        first = panel * width
        for column, mask in loop_vectors(b, 0, b.min(columns - first, width)):
            place = first + column
            b.store(total, b.constant(0, word_vector))
            start = b.gep(source, item * k * columns + place, "i8")
            target_column = b.gep(packed, unit * panel_words * width + column, "i32")
            packer = WordPacker(b, start, columns, mask, total, is_signed)
            with b.loop(i64(b, 0), words, name="word") as word:
                value = packer.pack(word, INT8_PER_WORD)
                store_vector(b, value, b.gep(target_column, word * width, "i32"))
            if remainder:
                value = packer.pack(words, remainder)
                store_vector(b, value, b.gep(target_column, words * width, "i32"))
            store_vector(b, b.load(total), b.gep(sums, item * columns + place, "i32"), mask)
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class WordPacker:
    """Packs rows of a vector of columns that begins at `start`, and adds them to `total`."""

    b: KernelBuilder
    start: str
    columns: LLVMValue
    mask: LLVMValue | None
    total: StackSlot
    is_signed: bool

    def pack(self, word: LLVMValue, rows: int) -> LLVMValue:
        """The words of the first `rows` of four rows; the others are 0."""
        b, lanes = self.b, self.b.target.lanes
        result, total = b.constant(0, self.total.type), b.load(self.total)
        for i in range(rows):
            address = b.gep(self.start, (word * INT8_PER_WORD + i) * self.columns, "i8")
            row = load_typed(b, LLVMType("i8", lanes), address, self.mask)
            if not self.is_signed:
                row = row ^ SIGN_BIT
            number = row.convert("sext", "i32")
            total = total + number
            result = result | ((number & 0xFF) << (8 * i))
        b.store(self.total, total)
        return result
