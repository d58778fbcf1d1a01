"""Integer GEMM microkernel: int8 products accumulated in int32 register tiles, for packed int8x4 operands.

The tile and its loops are those of the float32 microkernel; k counts i32 words of four int8.  One word of each row of A is
broadcast and multiplied with a vector of words of the panel by four-way dot products (`int8_dot.py`).  Sums wrap around;
the epilogue is an `IntegerEpilogue`, with operands and a result of any element type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import SIGN_BITS, Int8DotEmitter, load_word
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    TileArithmetic,
    vector_slot,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import RegisterTile


def layout_key(tile: RegisterTile) -> str:
    """The part of a kernel's cache key that identifies the panels of a tile."""
    return ("_pairs" if tile.has_pairs else "") + ("_signed" if tile.is_signed else "")


def int8_arithmetic(tile: RegisterTile, *, a_is_signed: bool) -> TileArithmetic:
    """Int8 dot products with int32 sums, for the panels of a tile.

    a_is_signed: A is int8; vector kernels add 128 to its elements to make them uint8, AMX tiles multiply them as they are.
    """
    update = partial(signed_update if tile.is_signed else int8_update, a_is_signed=a_is_signed)
    arithmetic = TileArithmetic("i32", update, amx_instruction="tdpbssd" if a_is_signed else "tdpbusd")
    if not tile.has_pairs:
        return arithmetic
    # Lazy: only processors without dot products of bytes need it.
    from sardonyx._src.compile.kernels.gemm.integer.paired_microkernel import add_paired_words
    from sardonyx._src.compile.kernels.gemm.integer.paired_panels import panel_row_words

    accumulate = partial(add_paired_words, a_is_signed=a_is_signed)
    return replace(arithmetic, accumulate=accumulate, panel_row=panel_row_words)


def int8_update(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    k: LLVMValue,
    stride: LLVMValue | None,
    *,
    a_is_signed: bool,
) -> None:
    """Adds the dot products of word k of each row of A with row k of words of B."""
    assert stride is None, f"rows of A must be contiguous; got a stride of {stride}"
    b, dot, base = m.b, Int8DotEmitter(m.b, m.b.target), k * m.tile.width
    slots = [vector_slot(m, panel, base + v * m.tile.lanes) for v in range(m.tile.vectors)]
    right = [dot.unpack_b(b.load(slot)) for slot in slots]
    for row, accumulators in zip(rows, m.accumulators, strict=False):
        packed = b.splat(load_word(b, b.gep(row, k)), m.tile.lanes)
        left = dot.unpack_a(packed ^ SIGN_BITS if a_is_signed else packed)
        for slot, words in zip(accumulators, right, strict=True):
            b.store(slot, dot.dot_accumulate(b.load(slot), left, words))


def signed_update(
    m: Microkernel,
    rows: Sequence[str],
    panel: str,
    k: LLVMValue,
    stride: LLVMValue | None,
    *,
    a_is_signed: bool,
) -> None:
    """`int8_update` with A as int8, 128 being subtracted from uint8, which the initial sums correct (`sign_correction`)."""
    assert stride is None, f"rows of A must be contiguous; got a stride of {stride}"
    b, dot, base = m.b, Int8DotEmitter(m.b, m.b.target), k * m.tile.width
    right = [b.load(vector_slot(m, panel, base + v * m.tile.lanes)) for v in range(m.tile.vectors)]
    for row, accumulators in zip(rows, m.accumulators, strict=False):
        word = load_word(b, b.gep(row, k))
        left = b.splat(word if a_is_signed else word ^ SIGN_BITS, m.tile.lanes)
        for slot, words in zip(accumulators, right, strict=True):
            b.store(slot, dot.dot_signed(b.load(slot), left, words))
