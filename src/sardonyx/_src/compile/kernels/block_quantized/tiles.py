"""Register tiles of a product with block-quantized weights: codes become floats in registers, or in scratch for many rows.

A few rows:   for block: for word: for term of the word: for row of A: multiply, add        # weights stay in registers
Many rows:    dequantize a block of k of a panel into scratch, which all rows then read as the panel of a GEMM

With one row, A is multiplied by the codes, and the sums of each block by its scales.  With several rows, the codes are
multiplied by their scales first, once for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sardonyx._src.compile.codegen import LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.block_quantized.blocks import BlockFormat
from sardonyx._src.compile.kernels.block_quantized.dequantize import (
    BlockScales,
    centered_codes,
    load_block_scales,
    load_element,
    load_words,
)
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.loops.vectors import i64, urem, vector_type, zeros
from sardonyx._src.dataclass import dataclass

UseCodes = Callable[[LLVMValue, Sequence[LLVMValue]], None]


@dataclass(frozen=True, slots=True)
class TermSpan:
    """Consecutive terms of a panel, from the beginning of a block on.

    address: the address of the first block.
    first, count: the first term, and the number of terms.
    """

    address: str
    first: LLVMValue
    count: LLVMValue


def loop_blocks(
    b: KernelBuilder, span: TermSpan, format_: BlockFormat
) -> Iterator[tuple[TermSpan, BlockScales]]:
    """A loop over the blocks of a span: the span of each block, and its scales; the last block may be partial."""
    with b.loop(i64(b, 0), b.udiv(span.count + (format_.size - 1), format_.size), 1, "block") as number:
        start = number * format_.size
        address = b.gep(span.address, number * format_.block_bytes, "i8")
        count = b.min(span.count - start, format_.size)
        yield TermSpan(address, span.first + start, count), load_block_scales(b, address, format_)


def emit_block(
    b: KernelBuilder, block: TermSpan, format_: BlockFormat, scales: BlockScales, use: UseCodes
) -> None:
    """Calls `use` with each term of a block and the vectors of its codes: first for whole words, then for the remaining terms."""
    terms = format_.word_terms
    words = b.gep(block.address, i64(b, format_.words_offset), "i8")
    num_words = b.udiv(block.count, terms)
    with b.loop(i64(b, 0), num_words, 1, "word") as number:
        loaded = load_words(b, b.gep(words, number * format_.word_row_bytes, "i8"), format_)
        first = block.first + number * terms
        for term in range(terms):
            use(first + term, centered_codes(b, loaded, term * format_.bits, format_, scales))
    left = urem(b, block.count, i64(b, terms))
    last = b.gep(words, num_words * format_.word_row_bytes, "i8")
    with b.loop(i64(b, 0), left, 1, "term") as term_left:
        loaded = load_words(b, last, format_)
        codes = centered_codes(b, loaded, term_left * format_.bits, format_, scales)
        use(block.first + num_words * terms + term_left, codes)


def accumulate_span(m: Microkernel, rows: Sequence[str], span: TermSpan, format_: BlockFormat) -> None:
    """Adds the products of rows of A with the terms of a panel to the accumulators; rows: the addresses of the rows."""
    if len(rows) == 1:
        accumulate_row(m, rows[0], span, format_)
        return
    b = m.b
    for block, scales in loop_blocks(b, span, format_):

        def add_products(term: LLVMValue, codes: Sequence[LLVMValue], scales: BlockScales = scales) -> None:
            weights = [code * scale for code, scale in zip(codes, scales.scales, strict=True)]
            for row, accumulators in zip(rows, m.accumulators, strict=False):
                add_multiples(b, load_element(b, row, term), weights, accumulators)

        emit_block(b, block, format_, scales, add_products)


def accumulate_row(m: Microkernel, row: str, span: TermSpan, format_: BlockFormat) -> None:
    """`accumulate_span` for one row: the sum of a block is multiplied by the block's scales."""
    b = m.b
    sums = [b.new_slot("block_sum", vector_type(b)) for _ in range(m.tile.vectors)]
    for block, scales in loop_blocks(b, span, format_):
        for slot in sums:
            b.store(slot, zeros(b))
        emit_block(
            b,
            block,
            format_,
            scales,
            lambda term, codes: add_multiples(b, load_element(b, row, term), codes, sums),
        )
        for slot, total, scale in zip(sums, m.accumulators[0], scales.scales, strict=True):
            b.store(total, b.fma(b.load(slot), scale, b.load(total)))


def add_multiples(
    b: KernelBuilder, factor: LLVMValue, vectors: Sequence[LLVMValue], sums: Sequence[MemoryLocation]
) -> None:
    for vector, slot in zip(vectors, sums, strict=True):
        b.store(slot, b.fma(factor, vector, b.load(slot)))


def dequantize_span(b: KernelBuilder, span: TermSpan, format_: BlockFormat, weights: str) -> None:
    """Writes the weights of a span as rows [terms, width] float32."""
    for block, scales in loop_blocks(b, span, format_):

        def store_weights(term: LLVMValue, codes: Sequence[LLVMValue], scales: BlockScales = scales) -> None:
            row = (term - span.first) * format_.width
            for number, (code, scale) in enumerate(zip(codes, scales.scales, strict=True)):
                store_at(b, weights, row + number * b.target.lanes, code * scale)

        emit_block(b, block, format_, scales, store_weights)
