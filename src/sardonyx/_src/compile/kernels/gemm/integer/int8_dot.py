"""Four-way int8 dot products: adds uint8x4 . int8x4 to each lane of an int32 vector, exactly.

Each i32 lane of A packs four uint8, and each of B four int8.  With AVX512-VNNI or AVX-VNNI this is one `vpdpbusd`, and with the
integer products of AArch64 one `usdot`.  With its dot products alone, `sdot` multiplies A - 128, and 128 times the sum of
B is added, for constants before the product (`sign_correction`).  Otherwise the bytes are extended to int16 and `pmaddwd` multiplies and adds them in pairs; otherwise they are
extended to int32.  (`pmaddubsw`, the usual choice without VNNI, saturates its int16 sums: only panels of constants that are
packed for it use it, `paired_panels.py`.)
"""

from __future__ import annotations

from typing import TypeAlias

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue, Target

PMADDWD_INTRINSICS = {
    16: ("avx512bw", "x86.avx512.pmaddw.d.512"),
    8: ("avx2", "x86.avx2.pmadd.wd"),
    4: ("sse2", "x86.sse2.pmadd.wd"),
}
SIGN_BITS = -0x7F7F7F80  # the highest bit of each byte of an i32; flipping it adds or subtracts 128
OFFSET_BITS = 7  # of 128
PMADDUBSW_INTRINSICS = {16: "x86.avx512.pmaddubs.w.512", 8: "x86.avx2.pmadd.ub.sw"}
ONES = 0x01010101  # 1 in each byte of a word: a dot product with it is the sum of the bytes
UnpackedInt8: TypeAlias = tuple[LLVMValue, ...]


class Int8DotEmitter:
    """Emits the dot products of a target: `unpack_a` and `unpack_b` extend the operands, `dot_accumulate` multiplies them."""

    def __init__(self, builder: FunctionBuilder, target: Target) -> None:
        self.builder, self.lanes = builder, target.lanes
        self.i32_vector = LLVMType("i32", target.lanes)
        self.has_vnni = has_vnni(target)
        features = target.features.split(",")
        self.has_usdot, self.has_sdot = "+i8mm" in features, "+dotprod" in features
        name, self.pmaddwd = PMADDWD_INTRINSICS.get(target.lanes, ("", ""))
        self.has_pmaddwd = f"+{name}" in features

    def unpack_a(self, packed: LLVMValue) -> UnpackedInt8:
        """A vector of uint8x4 as operands of the target's multiplication: itself, two vectors of int16, or four of int32."""
        if self.has_vnni or self.has_usdot:
            return (packed,)
        if self.has_sdot:
            return (packed ^ SIGN_BITS,)
        if self.has_pmaddwd:
            return packed & 0x00FF00FF, self.shift_right_logical(packed, 8) & 0x00FF00FF
        return tuple(self.shift_right_logical(packed, 8 * i) & 0xFF for i in range(4))

    def unpack_b(self, packed: LLVMValue) -> UnpackedInt8:
        """A vector of int8x4 as operands of the target's multiplication, as in `unpack_a`."""
        if self.has_vnni or self.has_usdot:
            return (packed,)
        if self.has_sdot:
            zero, ones = (self.builder.constant(number, self.i32_vector) for number in (0, ONES))
            return packed, self.emit_neon_dot("sdot", zero, packed, ones) << OFFSET_BITS
        if self.has_pmaddwd:
            int16s = self.as_int16(packed)
            return self.as_int32((int16s << 8) >> 8), self.as_int32(int16s >> 8)
        return tuple((packed << (24 - 8 * i)) >> 24 for i in range(4))

    def dot_signed(self, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """`total` plus the dot products of four int8 of packed operands, on a target that `multiplies_signed`."""
        return self.emit_neon_dot("sdot", total, a, b)

    def dot_accumulate(self, total: LLVMValue, left: UnpackedInt8, right: UnpackedInt8) -> LLVMValue:
        """`total` plus, in each lane, the dot product of the four elements of A and of B."""
        if self.has_vnni:
            return self.emit_vpdpbusd(total, left[0], right[0])
        if self.has_usdot:
            return self.emit_neon_dot("usdot", total, left[0], right[0])
        if self.has_sdot:
            return self.emit_neon_dot("sdot", total + right[1], left[0], right[0])
        for a, b in zip(left, right, strict=True):
            total = total + (self.emit_pmaddwd(a, b) if self.has_pmaddwd else a * b)
        return total

    def emit_vpdpbusd(self, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return self.call_target_intrinsic(
            f"x86.avx512.vpdpbusd.{32 * self.lanes}", self.i32_vector, total, self.as_int8(a), self.as_int8(b)
        )

    def emit_neon_dot(self, name: str, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """`total` plus the dot products of four bytes: `usdot` of uint8 and int8, `sdot` of int8."""
        name = f"aarch64.neon.{name}.v4i32.v16i8"
        return self.call_target_intrinsic(name, self.i32_vector, total, self.as_int8(a), self.as_int8(b))

    def emit_vpdpwssd(self, total: LLVMValue, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """`total` plus, in each lane, the products of two pairs of int16."""
        name = f"x86.avx512.vpdpwssd.{32 * self.lanes}"
        return self.call_target_intrinsic(name, self.i32_vector, total, self.as_int16(a), self.as_int16(b))

    def emit_pmaddwd(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return self.call_target_intrinsic(self.pmaddwd, self.i32_vector, self.as_int16(a), self.as_int16(b))

    def emit_pmaddubsw(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """The sums of the products of two uint8 of A and two int8 of B, in int16, with saturation."""
        int16s = LLVMType("i16", 2 * self.lanes)
        name = PMADDUBSW_INTRINSICS[self.lanes]
        return self.call_target_intrinsic(name, int16s, self.as_int8(a), self.as_int8(b))

    def widen_sums(self, sums: LLVMValue) -> LLVMValue:
        """The sums of two int16, in int32."""
        ones = self.builder.constant(1, sums.type)
        return self.call_target_intrinsic(self.pmaddwd, self.i32_vector, sums, ones)

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

    def as_int8(self, packed: LLVMValue) -> LLVMValue:
        return self.bitcast(packed, LLVMType("i8", self.lanes * 4))

    def as_int16(self, packed: LLVMValue) -> LLVMValue:
        return self.bitcast(packed, LLVMType("i16", self.lanes * 2))

    def as_int32(self, int16s: LLVMValue) -> LLVMValue:
        return self.bitcast(int16s, self.i32_vector)

    def bitcast(self, value: LLVMValue, llvm_type: LLVMType) -> LLVMValue:
        return self.builder.emit(llvm_type, f"bitcast {value} to {llvm_type}")


def load_word(b: FunctionBuilder, address: str) -> LLVMValue:
    """A word of four int8, at an address of any alignment."""
    return b.emit(LLVMType("i32"), f"load i32, ptr {address}, align 1")


def multiplies_signed(target: Target) -> bool:
    """Whether dot products of bytes are those of int8 alone: uint8 are read with 128 subtracted, on AArch64 without i8mm."""
    features = target.features.split(",")
    return "+dotprod" in features and "+i8mm" not in features


def has_vnni(target: Target) -> bool:
    """Whether a target multiplies and adds four bytes in each lane in one instruction: AVX512-VNNI, or AVX-VNNI without AVX-512."""
    features = set(target.features.split(","))
    if target.lanes == 16:
        return "+avx512vnni" in features
    return target.lanes in (4, 8) and ({"+avx512vnni", "+avx512vl"} <= features or "+avxvnni" in features)
