"""Register tiles of a product of int8 rows with block-quantized weights: dot products in int32, and a float sum of the blocks.

    for block of k:
        for word of the block: for row: vpdpbusd            # unsigned codes of the weights, signed codes of A; exact
        for row: sum += float(dot) * scale of A * scale of the columns

If the weights have one zero point, the int32 sums start at the correction of the row's block (`int8_rows.py`), which
subtracts the zero point.  If zero points differ, they are subtracted from the sum as a float, exactly.  Codes are unpacked in
registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Target
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
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter, has_vnni
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_BYTES, prefetch_l2
from sardonyx._src.compile.kernels.loops.vectors import i64, prefetch
from sardonyx._src.compile.kernels.tuning import BlockQuantizedTuning, tuning_for

I32 = LLVMType("i32")
WHOLE_BITS = 8  # codes that are bytes
WIDE_LANES = 16  # of AVX-512, which has 32 registers


def unpack_codes(words: Sequence[LLVMValue], field: int, format_: BlockFormat) -> list[LLVMValue]:
    """Words of four codes, one in each byte: code number `field` of each byte of packed words."""
    if format_.bits == WHOLE_BITS:
        return list(words)
    mask = ((1 << format_.bits) - 1) * 0x01010101
    return [(word >> (field * format_.bits) if field else word) & mask for word in words]


def row_counts(format_: BlockFormat, target: Target) -> tuple[int, ...]:
    """The rows of register tiles that code is emitted for: batches and drafts have few rows."""
    return (1, 2, 4, 6, 8) if has_tall_tiles(format_, target) else (1, 2, 4, 6)


def has_tall_tiles(format_: BlockFormat, target: Target) -> bool:
    """Whether eight rows share the unpacking of codes, in passes over some vectors of a panel.

    Bytes need no unpacking.  Without the dot products of AVX512-VNNI, words of A are extended, too, for all vectors at once.
    """
    return format_.bits != WHOLE_BITS and target.lanes == WIDE_LANES and has_vnni(target)


def accumulate_blocks(
    m: Microkernel, rows: Sequence[str], packed: str, num_blocks: LLVMValue, format_: BlockFormat
) -> None:
    """Adds the products of quantized rows with packed blocks of a panel to the accumulators.

    rows: the address of the first block of each row.
    packed: the address of the first packed block.
    """
    b, count = m.b, vectors_at_a_time(m, format_, len(rows))
    with b.loop(i64(b, 0), num_blocks, 1, "block") as block:
        address = b.gep(packed, block * format_.block_bytes, "i8")
        row_blocks = block_addresses(b, rows, block, format_)
        for first in range(0, m.tile.vectors, count):
            vectors = range(first, min(first + count, m.tile.vectors))
            sums = start_sums(m, row_blocks, format_, len(vectors))
            add_words(m, row_blocks, address, format_, vectors, sums)
            scale_sums(m, row_blocks, load_block_scales(b, address, format_, vectors), sums, vectors)


def vectors_at_a_time(m: Microkernel, format_: BlockFormat, rows: int) -> int:
    """The vectors of a panel whose sums of a block are in registers; those of float32 wait in memory."""
    if not has_tall_tiles(format_, m.b.target):
        return m.tile.vectors
    sums = 2 * tuning_for(m.b.target).gemm.tile_rows[2]
    return max(1, min(m.tile.vectors, sums // rows))


def add_words(
    m: Microkernel,
    row_blocks: Sequence[str],
    block: str,
    format_: BlockFormat,
    vectors: range,
    sums: Sequence[Sequence[MemoryLocation]],
) -> None:
    """Adds the dot products of the words of a block, in some vectors of the panel."""
    b, fields = m.b, format_.word_terms // WORD_BYTES
    words = b.gep(block, i64(b, format_.words_offset), "i8")
    with b.loop(i64(b, 0), i64(b, format_.words), 1, "word") as number:
        address = b.gep(words, number * format_.word_row_bytes, "i8")
        prefetch_words(b, address, format_, vectors, len(row_blocks))
        loaded = load_words(b, address, format_, vectors)
        for field in range(fields):
            codes = unpack_codes(loaded, field, format_)
            add_dot_products(b, row_blocks, number * fields + field, codes, sums)


def prefetch_words(b: KernelBuilder, words: str, format_: BlockFormat, vectors: range, rows: int) -> None:
    """Prefetches words that are read later: while a processor multiplies several rows, it does not read far enough ahead.

    Nor does it read ahead past the end of a page.  Memory limits products of one row, and of two rows with codes of less
    than 8 bits: their words are prefetched into L2, so that the first-level cache has room for what is multiplied now.
    """
    is_whole = format_.bits == WHOLE_BITS
    is_few = rows <= (1 if is_whole else 2)
    is_near = is_whole != is_few
    distance = BlockQuantizedTuning.near_prefetch_bytes if is_near else BlockQuantizedTuning.prefetch_bytes
    ahead, bytes_ = b.gep(words, i64(b, distance), "i8"), b.target.lanes * WORD_BYTES
    for offset in range(vectors.start * bytes_, vectors.stop * bytes_, CACHE_LINE_BYTES):
        line = i64(b, offset)
        if is_few:
            prefetch_l2(b, ahead, line)
        else:
            prefetch(b, b.gep(ahead, line, "i8"))


def block_addresses(
    b: KernelBuilder, rows: Sequence[str], block: LLVMValue, format_: BlockFormat
) -> list[str]:
    return [b.gep(row, block * quantized_block_bytes(format_), "i8") for row in rows]


def start_sums(
    m: Microkernel, row_blocks: Sequence[str], format_: BlockFormat, vectors: int
) -> list[list[MemoryLocation]]:
    """New int32 sums of a block, initialized with the correction of each row, or with 0 if zero points differ."""
    b, vector = m.b, LLVMType("i32", m.tile.lanes)
    sums = []
    for row in row_blocks:
        start = load_header(b, row, SCALE_BYTES, "i32") if format_.zero is not None else b.constant(0, vector)
        slots = [b.new_slot("dot", vector) for _ in range(vectors)]
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
    m: Microkernel,
    row_blocks: Sequence[str],
    scales: BlockScales,
    sums: Sequence[Sequence[MemoryLocation]],
    vectors: range,
) -> None:
    """Adds the sums of a block, times the scales of the row and of the columns, to the accumulators."""
    b = m.b
    for row, slots, accumulators in zip(row_blocks, sums, m.accumulators, strict=False):
        row_scale = load_header(b, row, 0, "float")
        totals = accumulators[vectors.start : vectors.stop]
        for vector, (slot, total, scale) in enumerate(zip(slots, totals, scales.scales, strict=True)):
            value = b.load(slot).convert("sitofp", "float")
            if scales.zeros is not None:
                correction = load_header(b, row, SCALE_BYTES, "i32").convert("sitofp", "float")
                value = value - correction * scales.zeros[vector]
            b.store(total, b.fma(value * row_scale, scale, b.load(total)))


def load_header(b: KernelBuilder, row_block: str, offset: int, element: Literal["float", "i32"]) -> LLVMValue:
    """The scale or the correction of a row's block in every lane."""
    address = b.gep(row_block, i64(b, offset), "i8")
    return b.splat(b.load(MemoryLocation(address, LLVMType(element))), b.target.lanes)
