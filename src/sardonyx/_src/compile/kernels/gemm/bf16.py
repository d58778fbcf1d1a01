"""bfloat16 products: factors rounded to bfloat16, in words of two elements along k, and sums in float32.

Words of A and panels of B are multiplied in AMX tiles, or by `vdpbf16ps` on vectors.  Both instructions round products and
sums to float32, to nearest, and treat subnormal factors and sums as zeros.  A row of words is padded with zeros to whole AMX
tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.accumulators import Microkernel, TileArithmetic, vector_slot
from sardonyx._src.compile.kernels.gemm.amx_tiles import has_amx_bf16
from sardonyx._src.compile.kernels.gemm.integer_microkernel import load_word
from sardonyx._src.compile.kernels.gemm.packing import make_constant
from sardonyx._src.compile.kernels.gemm.panels import Panels
from sardonyx._src.compile.kernels.gemm.register_tile import (
    RegisterTile,
    choose_padded_tile,
    choose_tile,
    padded_row_words,
)
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_vector, store_vector
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.ir import Array

BF16_PER_WORD = 2
BF16_LANES = 16  # float32 lanes of a vector of the targets that have the instructions (AVX-512)
WORDS: np.dtype[np.generic] = np.dtype("<i4")


def has_bf16_products(target: Target) -> bool:
    """Whether the target converts float32 to bfloat16 and has dot products of bfloat16."""
    return "+avx512bf16" in target.features.split(",") and target.lanes == BF16_LANES


def favors_bf16_products(target: Target) -> bool:
    """Whether products of bfloat16 are faster than those of float32: in AMX tiles, and with the vectors of AMD.

    On Intel's processors, where a system does not grant AMX to a process, only `vdpbf16ps` is left.  It adds twice the
    products of a float32 instruction, and yet networks need about twice the time of float32.
    """
    return has_bf16_products(target) and (has_amx_bf16(target) or target.cpu.startswith("znver"))


# --- tiles and words --------------------------------------------------------------------------


def padded_words(terms: int) -> int:
    """The number of words of a row of `terms` terms, padded so that AMX tiles of equal length divide it."""
    return padded_row_words(-(-terms // BF16_PER_WORD))


def choose_bf16_tile(columns: int, row_words: int, target: Target) -> RegisterTile:
    """The tile for products of `columns` columns with rows of `row_words` words."""
    if not has_amx_bf16(target):
        return choose_tile(columns, target)
    return choose_padded_tile(columns, row_words, target)


# --- arithmetic -------------------------------------------------------------------------------


def bf16_update(
    m: Microkernel, rows: Sequence[str], panel: str, k: LLVMValue, stride: LLVMValue | None
) -> None:
    """Adds the dot products of word k of each row of A with row k of words of B."""
    assert stride is None, f"rows of A must be contiguous; got a stride of {stride}"
    b, base = m.b, k * m.tile.width
    right = [b.load(vector_slot(m, panel, base + v * m.tile.lanes)) for v in range(m.tile.vectors)]
    for row, accumulators in zip(rows, m.accumulators, strict=False):
        left = b.splat(load_word(b, b.gep(row, k)), m.tile.lanes).convert("bitcast", "float")
        for slot, words in zip(accumulators, right, strict=True):
            b.store(slot, add_dot_products(b, b.load(slot), left, words))


BF16_ARITHMETIC = TileArithmetic("float", bf16_update, amx_instruction="tdpbf16ps")


def add_dot_products(b: KernelBuilder, total: LLVMValue, left: LLVMValue, right: LLVMValue) -> LLVMValue:
    """`total` plus, in each lane, the dot product of two words, which are held as float32."""
    words = f"<{2 * BF16_LANES} x bfloat>"
    factors = [f"{words} {b.emit(x.type, f'bitcast {x} to {words}').name}" for x in (left, right)]
    name = "@llvm.x86.avx512bf16.dpbf16ps.512"
    b.declarations[f"declare {total.type} {name}({total.type}, {words}, {words})"] = None
    return b.emit(total.type, f"call {total.type} {name}({total}, {', '.join(factors)})")


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


# --- constants --------------------------------------------------------------------------------


def round_to_bits(array: Array) -> Array:
    """The bits of the elements rounded to bfloat16, uint16."""
    return array.astype(ml_dtypes.bfloat16).view(np.uint16)


def make_bf16_panels(b: Array, tile: RegisterTile, row_words: int) -> LazyConstant:
    """B [..., taps, k, n] as panels of words [..., panels, row_words, width]; a panel has the rows of all taps in order.

    The terms of a tap are padded with a zero to whole words.
    """
    *batch, taps, k, n = b.shape
    num_panels, tap_words = -(-n // tile.width), -(-k // BF16_PER_WORD)

    def compute_rows(panels: Array, first: int) -> None:
        for i, panel in enumerate(panels, first):
            item, number = divmod(i, num_panels)
            columns = b[np.unravel_index(item, batch)][..., number * tile.width : (number + 1) * tile.width]
            bits = np.zeros((taps, tap_words, BF16_PER_WORD, tile.width), np.uint16)
            rounded = round_to_bits(columns)
            for part in range(BF16_PER_WORD):
                terms = rounded[:, part::BF16_PER_WORD]
                bits[:, : terms.shape[1], part, : terms.shape[2]] = terms
            panel[taps * tap_words :] = 0
            words = (
                panel[: taps * tap_words].view(np.uint16).reshape(taps, tap_words, tile.width, BF16_PER_WORD)
            )
            words[...] = bits.swapaxes(2, 3)

    return LazyConstant((*batch, num_panels, row_words, tile.width), 2, b, compute_rows, WORDS)


def pack_bf16_constant(b: Array, target: Target, name: str = "") -> Panels:
    """Packs a constant [..., k, columns] of float32 or half precision into panels of words."""
    *_, k, columns = b.shape
    row_words = padded_words(k)
    tile = choose_bf16_tile(columns, row_words, target)
    return Panels(make_constant(make_bf16_panels(b[..., None, :, :], tile, row_words), name), tile, columns)
