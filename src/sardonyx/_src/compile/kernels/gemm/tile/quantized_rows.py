"""Rows of a register tile stored as bytes: rounded, saturated and packed up to four vectors at a time (SSE2, AVX2, AVX-512BW).

The quotients of QuantizeLinear become int32 by one instruction that rounds to nearest even.  Two vectors at a time are packed
to int16 and then to bytes, with saturation, so that no instruction clamps.  With AVX-512 the vectors are those of a row: two
vectors together need two and a half shuffles; a single vector would need two.  Narrower registers pack vectors of several
rows.  The packing instructions work within groups of 128 bits; a last shuffle restores the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Target
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.elementwise.quantization import QUANTIZED_RANGES
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

GROUP_LANES = 4  # lanes of int32 in a group of 128 bits
MAX_PACKED = 4  # vectors of int32 that become one vector of bytes
# Larger quotients are clamped to this number, since they would not fit in int32; their results saturate anyway.
MAX_ROUNDED = 2.0**30
MAX_DISTINCT = 512.0  # all quotients of greater magnitude saturate, since zero points have 8 bits
AVX512_LANES = 16
FEATURES = {AVX512_LANES: {"+avx512bw", "+avx512dq"}, 8: {"+avx2"}, 4: {"+sse2"}}  # by lanes of int32
PACKING = {AVX512_LANES: ("avx512", ".512"), 8: ("avx2", ""), 4: ("sse2", ".128")}  # of intrinsics
ROUNDING = {8: "avx.cvt.ps2dq.256", 4: "sse2.cvtps2dq"}  # intrinsics, to nearest even
GREATEST_MAGNITUDE = 11  # immediate of `vrangeps`: the operand of greater magnitude, without its sign
CURRENT_ROUNDING = 4  # immediate: the current rounding mode, which is to nearest even; no program changes it
PACK_BYTES = {DataType.UINT8: "packuswb", DataType.INT8: "packsswb"}


@dataclass(frozen=True, slots=True)
class QuantizedResult:
    """A result saturate(round(quotient) + zero point), as 8-bit integers.

    zero_point: the index of the epilogue's operand; None for a zero point of 0.
    is_bounded: whether the quotient is known to fit in int32.
    element: the element type of the quotient.
    approximation: the result with a float32 approximation of a float64 quotient (`is_ambiguous`); None if there is none.
    """

    quotient: Scalar
    zero_point: int | None
    dtype: DataType
    is_bounded: bool
    element: Literal["float", "double"] = "float"
    approximation: QuantizedResult | None = None


def match_quantized_result(epilogue: Epilogue, target: Target) -> QuantizedResult | None:
    """The result of an epilogue that ends in QuantizeLinear, if the target packs rows of it; None otherwise."""
    if not packs_bytes(target):
        return None
    match epilogue:
        case IntegerEpilogue(expression=Cast(dtype=dtype, value=Apply(op="clamp", args=(x, low, high)))) if (
            dtype in PACK_BYTES and (low, high) == tuple(map(Number, QUANTIZED_RANGES[dtype]))
        ):
            pass
        case _:
            return None
    match x:
        case Apply(op="round", args=(quotient,)):
            result = quantized_result(quotient, None, dtype, epilogue)
        case Apply(op="add", args=(Apply(op="round", args=(quotient,)), Cast(value=Local(name=name)))):
            index = int(name[1:])
            if epilogue.operand_layouts[index] != "scalar" or epilogue.operand_types[index] is not dtype:
                return None
            result = quantized_result(quotient, index, dtype, epilogue)
        case _:
            return None
    return result if result.element == "float" or target.lanes == AVX512_LANES else None


def packs_bytes(target: Target) -> bool:
    """Whether a target has the instructions that round and pack its vectors."""
    needed = FEATURES.get(target.lanes)
    return needed is not None and needed.issubset(target.features.split(","))


def packed_rows(vectors: int, target: Target) -> int:
    """The rows of `vectors` vectors that are packed together; 0 if rows are not packed."""
    if target.lanes == AVX512_LANES:
        return int(vectors > 1)
    return max(1, MAX_PACKED // vectors)


def quantized_result(
    quotient: Scalar, zero_point: int | None, dtype: DataType, epilogue: IntegerEpilogue
) -> QuantizedResult:
    is_double = isinstance(quotient, Apply) and any(
        isinstance(arg, Cast) and arg.dtype is DataType.DOUBLE for arg in quotient.args
    )
    pair, approximation = epilogue.approximation, None
    if pair is not None and pair.exact == quotient and epilogue.has_bounded_quotient:
        approximation = QuantizedResult(pair.value, zero_point, dtype, is_bounded=True)
    return QuantizedResult(
        quotient,
        zero_point,
        dtype,
        epilogue.has_bounded_quotient,
        "double" if is_double else "float",
        approximation,
    )


def is_ambiguous(b: KernelBuilder, quotients: Sequence[LLVMValue]) -> LLVMValue:
    """The lanes in which an approximate quotient is so near to the middle of two integers that the exact one may round differently.

    The error of the approximate quotients is at most 2^-22 of their magnitude.  Magnitudes from `MAX_DISTINCT` on do not
    matter, since results saturate there.
    """
    floats = LLVMType("float", AVX512_LANES)
    ones, zeros = "i16 -1, i32 4", f"{floats} zeroinitializer"
    distance = None
    for quotient in quotients:
        rest = call_masked(b, "reduce.ps", floats, f"{quotient}, i32 0, {zeros}, {ones}")
        distance = (
            rest
            if distance is None
            else call_masked(
                b, "range.ps", floats, f"{distance}, {rest}, i32 {GREATEST_MAGNITUDE}, {zeros}, {ones}"
            )
        )
    assert distance is not None, "a row has a vector"
    return b.fabs(distance) > 0.5 - MAX_DISTINCT * 2.0**-22


def call_masked(b: KernelBuilder, name: str, result_type: LLVMType, arguments: str) -> LLVMValue:
    """Calls an AVX-512DQ intrinsic, of one or two vectors, for all lanes."""
    symbol = f"@llvm.x86.avx512.mask.{name}.512"
    vectors = arguments.count(str(result_type)) - 1
    types = ", ".join([*[str(result_type)] * vectors, "i32 immarg", str(result_type), "i16", "i32 immarg"])
    b.declarations[f"declare {result_type} {symbol}({types})"] = None
    return b.emit(result_type, f"call {result_type} {symbol}({arguments})")


def pack_quantized(
    b: KernelBuilder, result: QuantizedResult, quotients: Sequence[LLVMValue], zero_point: LLVMValue | None
) -> LLVMValue:
    """The results of one to four vectors of quotients in order, as one vector; zero_point: the operand's element."""
    assert 1 <= len(quotients) <= MAX_PACKED, f"there must be one to four vectors; got {len(quotients)}"
    lanes = b.target.lanes
    vectors = [round_to_int32(b, x if result.is_bounded else x.clamp_max(MAX_ROUNDED)) for x in quotients]
    halves = []
    for i in range(0, len(vectors), 2):
        last = vectors[min(i + 1, len(vectors) - 1)]
        int16s = pack(b, "packssdw", LLVMType("i16", 2 * lanes), vectors[i], last)
        halves.append(int16s if zero_point is None else add_saturated(b, int16s, zero_point))
    packed = pack(b, PACK_BYTES[result.dtype], LLVMType("i8", 4 * lanes), halves[0], halves[-1])
    words, groups = (
        b.emit(LLVMType("i32", lanes), f"bitcast {packed} to <{lanes} x i32>"),
        lanes // GROUP_LANES,
    )
    order = [GROUP_LANES * group + vector for vector in range(len(vectors)) for group in range(groups)]
    in_order = LLVMType(LLVM_ELEMENTS[result.dtype], lanes * len(vectors))
    return b.emit(in_order, f"bitcast {shuffle(b, words, words, order)} to {in_order}")


def split_packed(b: KernelBuilder, packed: LLVMValue, count: int) -> list[LLVMValue]:
    """A vector of bytes as `count` vectors of equal lanes."""
    if count == 1:
        return [packed]
    lanes = packed.type.lanes // count
    return [
        shuffle(b, packed, packed, range(first, first + lanes)) for first in range(0, count * lanes, lanes)
    ]


def saturate_vector(
    b: KernelBuilder, result: QuantizedResult, quotient: LLVMValue, zero_point: LLVMValue | None
) -> LLVMValue:
    """The results of one vector of bounded quotients; zero_point: the operand's element."""
    assert result.is_bounded, "sums with a zero point must not wrap around"
    if b.target.lanes != AVX512_LANES:
        return pack_quantized(b, result, [quotient], zero_point)
    rounded = round_to_int32(b, quotient)
    if zero_point is not None:
        opcode = "zext" if zero_point.type.is_unsigned else "sext"
        rounded = rounded + b.splat(zero_point.convert(opcode, "i32"), AVX512_LANES)
    low, high = (b.constant(limit, rounded.type) for limit in QUANTIZED_RANGES[result.dtype])
    clamped = b.call_intrinsic("smin", b.call_intrinsic("smax", rounded, low), high)
    return clamped.convert("trunc", LLVM_ELEMENTS[result.dtype])


def round_to_int32(b: KernelBuilder, x: LLVMValue) -> LLVMValue:
    """Rounds to nearest even; NaN, and floats that do not fit, become the lowest int32."""
    lanes = b.target.lanes
    if lanes != AVX512_LANES:
        return call(b, ROUNDING[lanes], LLVMType("i32", lanes), x)
    if x.type.element == "double":
        low, high = (round_doubles(b, shuffle(b, x, x, range(i, i + lanes // 2))) for i in (0, lanes // 2))
        return shuffle(b, low, high, range(lanes))
    floats, int32s = LLVMType("float", lanes), LLVMType("i32", lanes)
    name = "@llvm.x86.avx512.mask.cvtps2dq.512"
    b.declarations[f"declare {int32s} {name}({floats}, {int32s}, i16, i32 immarg)"] = None
    return b.emit(
        int32s, f"call {int32s} {name}({x}, {int32s} zeroinitializer, i16 -1, i32 {CURRENT_ROUNDING})"
    )


def round_doubles(b: KernelBuilder, x: LLVMValue) -> LLVMValue:
    """`round_to_int32` of half as many float64."""
    doubles, int32s = LLVMType("double", AVX512_LANES // 2), LLVMType("i32", AVX512_LANES // 2)
    name = "@llvm.x86.avx512.mask.cvtpd2dq.512"
    b.declarations[f"declare {int32s} {name}({doubles}, {int32s}, i8, i32 immarg)"] = None
    return b.emit(
        int32s, f"call {int32s} {name}({x}, {int32s} zeroinitializer, i8 -1, i32 {CURRENT_ROUNDING})"
    )


def add_saturated(b: KernelBuilder, int16s: LLVMValue, zero_point: LLVMValue) -> LLVMValue:
    """Adds a zero point of 8 bits with saturation to int16; saturated sums stay outside of the range of 8 bits."""
    opcode = "zext" if zero_point.type.is_unsigned else "sext"
    added = b.splat(zero_point.convert(opcode, "i16"), int16s.type.lanes)
    return b.call_intrinsic("sadd.sat", int16s, added)


def pack(b: KernelBuilder, name: str, result_type: LLVMType, low: LLVMValue, high: LLVMValue) -> LLVMValue:
    """Packs two vectors of the target's length to elements of half the bits, with saturation."""
    prefix, suffix = PACKING[b.target.lanes]
    return call(b, f"{prefix}.{name}{suffix}", result_type, low, high)


def call(b: KernelBuilder, name: str, result_type: LLVMType, *operands: LLVMValue) -> LLVMValue:
    """Calls an intrinsic of x86."""
    symbol = f"@llvm.x86.{name}"
    types, arguments = ", ".join(str(o.type) for o in operands), ", ".join(map(str, operands))
    b.declarations[f"declare {result_type} {symbol}({types})"] = None
    return b.emit(result_type, f"call {result_type} {symbol}({arguments})")
