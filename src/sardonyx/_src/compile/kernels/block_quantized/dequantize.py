"""Dequantization in registers: the codes of a vector of words as floats, minus their zero points.

With AVX-512, codes of at most 4 bits are looked up in a table of 16 floats in a register: one shift and one permutation.  The
permutation uses the lowest four bits as index and ignores the others.  Otherwise codes are shifted, masked and converted.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat
from sardonyx._src.compile.kernels.loops.memory import load_at
from sardonyx._src.dataclass import dataclass

TABLE_LANES = 16
TABLE_BITS = 4


@dataclass(frozen=True, slots=True)
class BlockScales:
    """The scales and the zero points of a block as vectors of columns; zeros: as floats, None if all are one constant."""

    scales: Sequence[LLVMValue]
    zeros: Sequence[LLVMValue] | None


def load_block_scales(
    b: KernelBuilder, block: str, format_: BlockFormat, vectors: range | None = None
) -> BlockScales:
    """The scales and zero points at the address of a block.  vectors: of the columns of the panel; None for all."""
    lanes, starts = b.target.lanes, column_starts(b, format_, vectors)
    scales = [load_at(b, block, b.constant(start, I64), "float", lanes) for start in starts]
    if format_.zero is not None:
        return BlockScales(scales, None)
    zeros = b.gep(block, b.constant(format_.zeros_offset, I64), "i8")
    loaded = [load_at(b, zeros, b.constant(start, I64), "u8", lanes) for start in starts]
    return BlockScales(scales, [code.convert("zext", "i32").convert("sitofp", "float") for code in loaded])


def column_starts(b: KernelBuilder, format_: BlockFormat, vectors: range | None) -> list[int]:
    """The first column of each of some vectors of a panel; None for all of them."""
    starts = range(0, format_.width, b.target.lanes)
    return list(starts if vectors is None else starts[vectors.start : vectors.stop])


def load_words(
    b: KernelBuilder, words: str, format_: BlockFormat, vectors: range | None = None
) -> list[LLVMValue]:
    """The vectors of one word for each column of a panel, or of some of its vectors, from an address on.

    Nothing is prefetched: panels are one stream, which the processor reads ahead by itself.
    """
    lanes, starts = b.target.lanes, column_starts(b, format_, vectors)
    return [load_at(b, words, b.constant(start, I64), "u32", lanes) for start in starts]


def centered_codes(
    b: KernelBuilder,
    words: Sequence[LLVMValue],
    shift: LLVMValue | int,
    format_: BlockFormat,
    scales: BlockScales,
) -> list[LLVMValue]:
    """The codes that begin at bit `shift` of each word, minus their zero points, as floats."""
    shifted = [shift_right(b, word, shift) for word in words]
    offset = format_.zero or 0
    if (
        b.target.lanes == TABLE_LANES
        and format_.bits <= TABLE_BITS
        and "+avx512f" in b.target.features.split(",")
    ):
        codes = [look_up(b, word, format_.bits, offset) for word in shifted]
    else:
        codes = [mask_and_convert(word, format_.bits, offset) for word in shifted]
    if scales.zeros is None:
        return codes
    return [code - zero for code, zero in zip(codes, scales.zeros, strict=True)]


def shift_right(b: KernelBuilder, word: LLVMValue, shift: LLVMValue | int) -> LLVMValue:
    """A vector of words, shifted right by a constant or by an i64."""
    if isinstance(shift, int):
        return word >> shift if shift else word
    return word >> b.splat(shift.convert("trunc", "u32"), word.type.lanes)


def look_up(b: KernelBuilder, indices: LLVMValue, bits: int, zero: int) -> LLVMValue:
    """code - zero as floats, for the codes in the lowest bits; the lowest four bits are the index in the table."""
    numbers = (float((i & ((1 << bits) - 1)) - zero) for i in range(TABLE_LANES))
    floats, integers = LLVMType("float", TABLE_LANES), LLVMType("i32", TABLE_LANES)
    entry = LLVMType("float")
    table = f"<{', '.join(f'{entry} {entry.constant(number)}' for number in numbers)}>"
    name = "@llvm.x86.avx512.permvar.sf.512"
    b.declarations[f"declare {floats} {name}({floats}, {integers})"] = None
    return b.emit(floats, f"call {floats} {name}({floats} {table}, {indices})")


def mask_and_convert(word: LLVMValue, bits: int, zero: int) -> LLVMValue:
    """code - zero as floats, for the codes in the lowest bits, without a table."""
    codes = (word & ((1 << bits) - 1)).convert("bitcast", "i32").convert("sitofp", "float")
    return codes - float(zero) if zero else codes


def load_element(b: KernelBuilder, row: str, index: LLVMValue) -> LLVMValue:
    """An element of a row of float32 in every lane."""
    return b.splat(b.load(MemoryLocation(b.gep(row, index), LLVMType("float"))), b.target.lanes)
