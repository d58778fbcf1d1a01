"""Words of two bfloat16, the first in the upper half: rounding of float32, and rows of words, padded to whole AMX tiles."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import BF16_LANES
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import has_amx_bf16
from sardonyx._src.compile.kernels.gemm.tile.register_tile import (
    RegisterTile,
    choose_padded_tile,
    choose_tile,
    padded_row_words,
)
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_vector, store_vector
from sardonyx._src.compile.kernels.tuning import GemmTuning

BF16_PER_WORD = 2
MIN_SHARED_BLOCK = 256  # shorter blocks cost more than float32 arithmetic


def padded_words(terms: int) -> int:
    """The number of words of a row of `terms` terms, padded so that AMX tiles of equal length divide it."""
    return padded_row_words(-(-terms // BF16_PER_WORD))


def shared_k_block(k: int) -> int | None:
    """The most terms of a block with which products of k terms in float32 and in words have the same blocks; None if none has.

    Blocks of a product have about equal lengths, of words with their padding, and words are not divided.
    """
    words = padded_words(k)
    for limit in range(GemmTuning.k_block, MIN_SHARED_BLOCK - 1, -BF16_PER_WORD):
        block, word_block = divide_evenly(k, limit), divide_evenly(words, limit // BF16_PER_WORD)
        if (block, word_block) == (k, words) or block == word_block * BF16_PER_WORD:
            return limit
    return None


def divide_evenly(total: int, limit: int) -> int:
    """The length of equal blocks, at most `limit`, as kernels divide k (`tile/row_blocks.py`)."""
    return -(-total // max(1, -(-total // limit)))


def choose_bf16_tile(columns: int, row_words: int, target: Target) -> RegisterTile:
    """The tile for products of `columns` columns with rows of `row_words` words."""
    if not has_amx_bf16(target):
        return choose_tile(columns, target)
    return choose_padded_tile(columns, row_words, target)


def round_to_words(b: KernelBuilder, low: LLVMValue, high: LLVMValue) -> LLVMValue:
    """Two vectors of float32, rounded to bfloat16 to nearest even, as a vector of words, which are i32."""
    words = f"<{2 * BF16_LANES} x bfloat>"
    name = "@llvm.x86.avx512bf16.cvtne2ps2bf16.512"
    b.declarations[f"declare {words} {name}({low.type}, {low.type})"] = None
    rounded = b.emit(low.type, f"call {words} {name}({high}, {low})")
    result = LLVMType("i32", BF16_LANES)
    bits = b.emit(result, f"bitcast {words} {rounded.name} to {result}")
    return b.call_intrinsic("fshl", bits, bits, b.constant(16, result))


def copy_rounded(b: KernelBuilder, source: str, target: str, count: LLVMValue, row_words: LLVMValue) -> None:
    """Copies `count` contiguous float32 as words of bfloat16, padded with zeros to `row_words` words."""
    elements = BF16_PER_WORD * BF16_LANES
    with b.loop(b.constant(0, I64), count, elements, "element") as i:
        halves = [load_vector(b, b.gep(source, i + part * BF16_LANES)) for part in range(BF16_PER_WORD)]
        store_vector(b, round_to_words(b, *halves), b.gep(target, i, "i16"))
    with b.loop(i >> 1, row_words + (BF16_LANES - 1), BF16_LANES, "word") as word:
        first = word * BF16_PER_WORD
        starts = [first + part * BF16_LANES for part in range(BF16_PER_WORD)]
        halves = [load_vector(b, b.gep(source, start), first_lanes(b, count - start)) for start in starts]
        words = round_to_words(b, *halves)
        store_vector(b, words, b.gep(target, word), first_lanes(b, row_words - word))
