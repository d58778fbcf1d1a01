"""Four-way int8 dot products: adds uint8x4 . int8x4 to each lane of an int32 vector, exactly.

Each i32 lane of A packs four uint8, and each of B four int8.  With AVX512-VNNI or AVX-VNNI this is one `vpdpbusd`; otherwise the bytes
are extended to int16 and `pmaddwd` multiplies and adds them in pairs; otherwise they are extended to int32.
(`pmaddubsw`, the usual choice without VNNI, saturates its int16 sums.)
"""

from __future__ import annotations

from typing import TypeAlias

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue, Target

PMADDWD_INTRINSICS = {
    16: ("avx512bw", "x86.avx512.pmaddw.d.512"),
    8: ("avx2", "x86.avx2.pmadd.wd"),
    4: ("sse2", "x86.sse2.pmadd.wd"),
}
ONES = 0x01010101  # 1 in each byte of a word: a dot product with it is the sum of the bytes
UnpackedInt8: TypeAlias = tuple[LLVMValue, ...]


class Int8DotEmitter:
    """Emits the dot products of a target: `unpack_a` and `unpack_b` extend the operands, `dot_accumulate` multiplies them."""

    def __init__(self, builder: FunctionBuilder, target: Target) -> None:
        self.builder, self.lanes = builder, target.lanes
        self.i32_vector = LLVMType("i32", target.lanes)
        self.has_vnni = has_vnni(target)
        name, self.pmaddwd = PMADDWD_INTRINSICS.get(target.lanes, ("", ""))
        self.has_pmaddwd = f"+{name}" in target.features.split(",")

    def unpack_a(self, packed: LLVMValue) -> UnpackedInt8:
        """A vector of uint8x4 as operands of the target's multiplication: itself, two vectors of int16, or four of int32."""
        if self.has_vnni:
            return (packed,)
        if self.has_pmaddwd:
            return packed & 0x00FF00FF, self.shift_right_logical(packed, 8) & 0x00FF00FF
        return tuple(self.shift_right_logical(packed, 8 * i) & 0xFF for i in range(4))

    def unpack_b(self, packed: LLVMValue) -> UnpackedInt8:
        """A vector of int8x4 as operands of the target's multiplication, as in `unpack_a`."""
        if self.has_vnni:
            return (packed,)
        if self.has_pmaddwd:
            int16s = self.as_int16(packed)
            return self.as_int32((int16s << 8) >> 8), self.as_int32(int16s >> 8)
        return tuple((packed << (24 - 8 * i)) >> 24 for i in range(4))

    def dot_accumulate(self, total: LLVMValue, left: UnpackedInt8, right: UnpackedInt8) -> LLVMValue:
        """`total` plus, in each lane, the dot product of the four elements of A and of B."""
        if self.has_vnni:
            return self.emit_vpdpbusd(total, left[0], right[0])
        for a, b in zip(left, right, strict=True):
            total = total + (self.emit_pmaddwd(a, b) if self.has_pmaddwd else a * b)
        return total

    def emit_vpdpbusd(self, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        name = f"x86.avx512.vpdpbusd.{32 * self.lanes}"
        return self.call_target_intrinsic(
            name, self.i32_vector, total, *(self.bitcast(x, LLVMType("i8", self.lanes * 4)) for x in (a, b))
        )

    def emit_vpdpwssd(self, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """`total` plus, in each lane, the products of two pairs of int16."""
        name = f"x86.avx512.vpdpwssd.{32 * self.lanes}"
        return self.call_target_intrinsic(name, self.i32_vector, total, self.as_int16(a), self.as_int16(b))

    def emit_pmaddwd(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return self.call_target_intrinsic(self.pmaddwd, self.i32_vector, self.as_int16(a), self.as_int16(b))

    def call_target_intrinsic(self, name: str, llvm_type: LLVMType, *operands: LLVMValue) -> LLVMValue:
        """Calls a target-specific intrinsic, whose name has no type suffix."""
        types, arguments = ", ".join(str(o.type) for o in operands), ", ".join(map(str, operands))
        self.builder.declarations[f"declare {llvm_type} @llvm.{name}({types})"] = None
        return self.builder.emit(llvm_type, f"call {llvm_type} @llvm.{name}({arguments})")

    def shift_right_logical(self, packed: LLVMValue, bits: int) -> LLVMValue:
        """A logical shift right; `>>` of LLVMValue is arithmetic."""
        return (
            self.builder.emit(packed.type, f"lshr {packed}, {packed.type.constant(bits)}") if bits else packed
        )

    def as_int16(self, packed: LLVMValue) -> LLVMValue:
        return self.bitcast(packed, LLVMType("i16", self.lanes * 2))

    def as_int32(self, int16s: LLVMValue) -> LLVMValue:
        return self.bitcast(int16s, self.i32_vector)

    def bitcast(self, value: LLVMValue, llvm_type: LLVMType) -> LLVMValue:
        return self.builder.emit(llvm_type, f"bitcast {value} to {llvm_type}")


def has_fast_int8(target: Target) -> bool:
    """Whether int8 dot products are faster than float32 multiply-adds on a target."""
    emitter = Int8DotEmitter(FunctionBuilder(has_fma=False), target)
    return emitter.has_vnni or emitter.has_pmaddwd


def has_vnni(target: Target) -> bool:
    """Whether a target multiplies and adds four bytes in each lane in one instruction: AVX512-VNNI, or AVX-VNNI without AVX-512."""
    features = set(target.features.split(","))
    if target.lanes == 16:
        return "+avx512vnni" in features
    return target.lanes in (4, 8) and ({"+avx512vnni", "+avx512vl"} <= features or "+avxvnni" in features)
