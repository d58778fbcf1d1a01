"""Interleaves four rows of 64 bytes into words, one byte of each row in a word, in registers of 512 bits (AVX-512BW).

The instructions interleave within groups of 128 bits.  So the words of each row are first permuted such that columns end up
in order; then bytes of two rows are interleaved, then pairs of bytes, which yields four vectors of 16 words.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import shuffle

WORDS, VECTORS = 16, 4  # words in a vector; vectors of words that four rows become
COLUMNS = WORDS * VECTORS
GROUPS = 4  # groups of 128 bits in a vector
ROW = LLVMType("i8", COLUMNS)


def interleaves_rows(vectors: int, target: Target) -> bool:
    """Whether a row of a panel of `vectors` vectors fills a register of bytes, and the target has the instructions."""
    return (vectors, target.lanes) == (VECTORS, WORDS) and "+avx512bw" in target.features.split(",")


def interleave_rows(b: KernelBuilder, rows: Sequence[LLVMValue]) -> list[LLVMValue]:
    """The words of columns 0 to 15, 16 to 31, and so on, of four rows of 64 bytes."""
    order = [GROUPS * j + group for group in range(GROUPS) for j in range(GROUPS)]
    permuted = []
    for row in rows:
        words = bitcast(b, row, LLVMType("i32", WORDS))
        permuted.append(bitcast(b, shuffle(b, words, words, order), ROW))
    first, second, third, fourth = permuted
    pairs = [*interleave(b, first, second), *interleave(b, third, fourth)]
    low, high, other_low, other_high = (bitcast(b, pair, LLVMType("i16", 2 * WORDS)) for pair in pairs)
    interleaved = [*interleave(b, low, other_low), *interleave(b, high, other_high)]
    return [bitcast(b, vector, LLVMType("i32", WORDS)) for vector in interleaved]


def interleave(b: KernelBuilder, even: LLVMValue, odd: LLVMValue) -> list[LLVMValue]:
    """The lower, and the upper halves of the groups of 128 bits of two vectors, interleaved."""
    lanes = even.type.lanes
    size = lanes // GROUPS
    results = []
    for start in (0, size // 2):
        indices = [group * size + start + i for group in range(GROUPS) for i in range(size // 2)]
        results.append(
            shuffle(b, even, odd, [index + operand for index in indices for operand in (0, lanes)])
        )
    return results


def bitcast(b: KernelBuilder, value: LLVMValue, llvm_type: LLVMType) -> LLVMValue:
    return b.emit(llvm_type, f"bitcast {value} to {llvm_type}")
