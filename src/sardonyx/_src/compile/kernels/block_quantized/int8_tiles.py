"""Register tiles of a product of int8 rows with block-quantized weights: dot products in int32, and a float sum of the blocks.

    for block of k:
        for word of the block: for row: vpdpbusd            # unsigned codes of the weights, signed codes of A; exact
        for row: sum += float(dot) * scale of A * scale of the columns

If the weights have one zero point, the int32 sums start at the correction of the row's block (`int8_rows.py`), which
subtracts the zero point.  If zero points differ, they are subtracted from the sum as a float, exactly.  With few rows, codes
are unpacked in registers; with many rows, they were unpacked into scratch, as words of four bytes.  Both ways add in the same
order, so that their sums are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import WORD_BYTES, BlockFormat
from sardonyx._src.compile.kernels.block_quantized.dequantize import (
    BlockScales,
    load_block_scales,
    load_words,
)
from sardonyx._src.compile.kernels.block_quantized.int8_rows import (
    HEADER_BYTES,
    SCALE_BYTES,
    quantized_block_bytes,
)
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64

I32 = LLVMType("i32")


def unpack_codes(words: Sequence[LLVMValue], field: int, format_: BlockFormat) -> list[LLVMValue]:
    """Words of four codes, one in each byte: code number `field` of each byte of packed words."""
    if format_.bits == 8:
        return list(words)
    mask = ((1 << format_.bits) - 1) * 0x01010101
    return [(word >> (field * format_.bits) if field else word) & mask for word in words]


def unpack_span(
    b: KernelBuilder, packed: str, num_blocks: LLVMValue, format_: BlockFormat, result: str
) -> None:
    """Writes the codes of some blocks as words of four bytes, [blocks, words of a block, width]; packed: their address."""
    fields, lanes = format_.word_terms // WORD_BYTES, b.target.lanes
    with b.loop(i64(b, 0), num_blocks, 1, "block") as block:
        words = b.gep(packed, block * format_.block_bytes + format_.words_offset, "i8")
        rows = b.gep(result, block * (format_.words * fields * format_.width))
        with b.loop(i64(b, 0), i64(b, format_.words), 1, "word") as number:
            loaded = load_words(b, b.gep(words, number * format_.word_row_bytes, "i8"), format_)
            for field in range(fields):
                row = (number * fields + field) * format_.width
                for vector, codes in enumerate(unpack_codes(loaded, field, format_)):
                    store_at(b, rows, row + vector * lanes, codes)


def accumulate_packed(
    m: Microkernel, rows: Sequence[str], packed: str, num_blocks: LLVMValue, format_: BlockFormat
) -> None:
    """Adds the products of quantized rows with packed blocks of a panel to the accumulators.

    rows: the address of the first block of each row.
    packed: the address of the first packed block.
    """
    b, fields = m.b, format_.word_terms // WORD_BYTES
    with b.loop(i64(b, 0), num_blocks, 1, "block") as block:
        address = b.gep(packed, block * format_.block_bytes, "i8")
        words = b.gep(address, i64(b, format_.words_offset), "i8")
        row_blocks = block_addresses(b, rows, block, format_)
        sums = start_sums(m, row_blocks, format_)
        with b.loop(i64(b, 0), i64(b, format_.words), 1, "word") as number:
            loaded = load_words(b, b.gep(words, number * format_.word_row_bytes, "i8"), format_)
            for field in range(fields):
                codes = unpack_codes(loaded, field, format_)
                add_dot_products(b, row_blocks, number * fields + field, codes, sums)
        scale_sums(m, row_blocks, load_block_scales(b, address, format_), sums)


def accumulate_unpacked(
    m: Microkernel, rows: Sequence[str], packed: str, codes: str, num_blocks: LLVMValue, format_: BlockFormat
) -> None:
    """`accumulate_packed` with codes from `unpack_span`; only scales and zero points are read from the packed blocks."""
    b, width, lanes = m.b, format_.width, m.b.target.lanes
    num_words = format_.words * format_.word_terms // WORD_BYTES
    with b.loop(i64(b, 0), num_blocks, 1, "block") as block:
        address = b.gep(packed, block * format_.block_bytes, "i8")
        words = b.gep(codes, block * (num_words * width))
        row_blocks = block_addresses(b, rows, block, format_)
        sums = start_sums(m, row_blocks, format_)
        with b.loop(i64(b, 0), i64(b, num_words), 1, "word") as number:
            loaded = [
                load_at(b, words, number * width + start, "i32", lanes) for start in range(0, width, lanes)
            ]
            add_dot_products(b, row_blocks, number, loaded, sums)
        scale_sums(m, row_blocks, load_block_scales(b, address, format_), sums)


def block_addresses(
    b: KernelBuilder, rows: Sequence[str], block: LLVMValue, format_: BlockFormat
) -> list[str]:
    return [b.gep(row, block * quantized_block_bytes(format_), "i8") for row in rows]


def start_sums(m: Microkernel, row_blocks: Sequence[str], format_: BlockFormat) -> list[list[MemoryLocation]]:
    """New int32 sums of a block, initialized with the correction of each row, or with 0 if zero points differ."""
    b, vector = m.b, LLVMType("i32", m.tile.lanes)
    sums = []
    for row in row_blocks:
        start = load_header(b, row, SCALE_BYTES, "i32") if format_.zero is not None else b.constant(0, vector)
        slots = [b.new_slot("dot", vector) for _ in range(m.tile.vectors)]
        for slot in slots:
            b.store(slot, start)
        sums.append(slots)
    return sums


def add_dot_products(
    b: KernelBuilder,
    row_blocks: Sequence[str],
    word: LLVMValue,
    codes: Sequence[LLVMValue],
    sums: Sequence[Sequence[MemoryLocation]],
) -> None:
    """Adds the dot products of a word of each row with words of all columns."""
    dot = Int8DotEmitter(b, b.target)
    left = [dot.unpack_a(dot.as_int32(vector)) for vector in codes]
    for row, slots in zip(row_blocks, sums, strict=True):
        terms = b.gep(row, i64(b, HEADER_BYTES), "i8")
        right = dot.unpack_b(b.splat(b.load(MemoryLocation(b.gep(terms, word), I32)), b.target.lanes))
        for slot, unsigned in zip(slots, left, strict=True):
            b.store(slot, dot.dot_accumulate(b.load(slot), unsigned, right))


def scale_sums(
    m: Microkernel, row_blocks: Sequence[str], scales: BlockScales, sums: Sequence[Sequence[MemoryLocation]]
) -> None:
    """Adds the sums of a block, times the scales of the row and of the columns, to the accumulators."""
    b = m.b
    for row, slots, accumulators in zip(row_blocks, sums, m.accumulators, strict=False):
        row_scale = load_header(b, row, 0, "float")
        for vector, (slot, total, scale) in enumerate(zip(slots, accumulators, scales.scales, strict=True)):
            value = b.load(slot).convert("sitofp", "float")
            if scales.zeros is not None:
                correction = load_header(b, row, SCALE_BYTES, "i32").convert("sitofp", "float")
                value = value - correction * scales.zeros[vector]
            b.store(total, b.fma(value * row_scale, scale, b.load(total)))


def load_header(b: KernelBuilder, row_block: str, offset: int, element: Literal["float", "i32"]) -> LLVMValue:
    """The scale or the correction of a row's block in every lane."""
    address = b.gep(row_block, i64(b, offset), "i8")
    return b.splat(b.load(MemoryLocation(address, LLVMType(element))), b.target.lanes)
