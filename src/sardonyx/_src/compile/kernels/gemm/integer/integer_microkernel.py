"""Integer GEMM microkernel: int8 products accumulated in int32 register tiles, for packed int8x4 operands.

The tile and its loops are those of the float32 microkernel; k counts i32 words of four int8.  One word of each row of A is
broadcast and multiplied with a vector of words of the panel by four-way dot products (`int8_dot.py`).  Sums wrap around;
the epilogue is an `IntegerEpilogue`, with operands and a result of any element type.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.tile.accumulators import (
    Microkernel,
    TileArithmetic,
    vector_slot,
)

I32 = LLVMType("i32")
SIGN_BITS = -0x7F7F7F80  # the highest bit of each byte of an i32


def int8_arithmetic(*, a_is_signed: bool) -> TileArithmetic:
    """Int8 dot products with int32 sums.

    a_is_signed: A is int8; vector kernels add 128 to its elements to make them uint8, AMX tiles multiply them as they are.
    """
    update = partial(int8_update, a_is_signed=a_is_signed)
    return TileArithmetic("i32", update, amx_instruction="tdpbssd" if a_is_signed else "tdpbusd")


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


def load_word(b: KernelBuilder, address: str) -> LLVMValue:
    """A word of four int8, at an address of any alignment."""
    return b.emit(I32, f"load i32, ptr {address}, align 1")
