"""Words of two bfloat16: rounding of float32, and rows of words, which are padded with zeros to whole AMX tiles."""

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

BF16_PER_WORD = 2


def padded_words(terms: int) -> int:
    """The number of words of a row of `terms` terms, padded so that AMX tiles of equal length divide it."""
    return padded_row_words(-(-terms // BF16_PER_WORD))


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
    return b.emit(result, f"bitcast {words} {rounded.name} to {result}")


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
