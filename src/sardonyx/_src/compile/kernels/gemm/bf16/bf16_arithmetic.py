"""Arithmetic of bfloat16 products: dot products of words of two elements along k, and sums in float32.

Words of A and panels of B are multiplied in AMX tiles, or by `vdpbf16ps` on vectors.  Both instructions treat subnormal
factors and sums as zeros.  `vdpbf16ps` adds the product of the upper halves, then that of the lower ones, and rounds to
float32 after each, as two fused multiply-adds do.  Words have the first of two terms in their upper half, so that sums have
the order, and the bits, of float32 products.  AMX tiles add the products of upper and of lower halves apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import LLVMValue, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import load_word
from sardonyx._src.compile.kernels.gemm.tile.accumulators import Microkernel, TileArithmetic, vector_slot
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import has_amx_bf16
from sardonyx._src.compile.llvm.target_classes import AMD

BF16_LANES = 16  # float32 lanes of a vector of the targets that have the instructions (AVX-512)


def has_bf16_products(target: Target) -> bool:
    """Whether the target converts float32 to bfloat16 and has dot products of bfloat16."""
    return "+avx512bf16" in target.features.split(",") and target.lanes == BF16_LANES


def favors_bf16_products(target: Target) -> bool:
    """Whether products of bfloat16 are faster than those of float32: in AMX tiles, and with the vectors of AMD.

    On Intel's processors, where a system does not grant AMX to a process, only `vdpbf16ps` is left.  It adds twice the
    products of a float32 instruction, and yet networks need about twice the time of float32.
    """
    return has_bf16_products(target) and (has_amx_bf16(target) or target.vendor == AMD)


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
