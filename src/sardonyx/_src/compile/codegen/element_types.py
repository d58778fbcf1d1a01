"""ONNX element types as LLVM types, in memory and in registers, and conversions between them (Cast)."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.codegen import Element, FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.half_precision import (
    extend_half,
    round_to_odd_double,
    round_to_odd_float,
    truncate_to_half,
)
from sardonyx._src.compile.codegen.integer_ops import emit_abs
from sardonyx._src.dtypes import DataType

# The type in registers; a bool is i1 there, and a byte in memory.
LLVM_ELEMENTS: Mapping[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.FLOAT16: "f16",
    DataType.BFLOAT16: "b16",
    DataType.BOOL: "i1",
    DataType.INT8: "i8",
    DataType.INT16: "i16",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
    DataType.UINT8: "u8",
    DataType.UINT16: "u16",
    DataType.UINT32: "u32",
    DataType.UINT64: "u64",
}

# Coded types, which are bytes in memory and in registers: floats of at most 8 bits, which `minifloats`
# converts, and integers of fewer than 8 bits, of which only the low bits of the byte count.
MINIFLOAT_TYPES = frozenset(t for t in DataType if t.is_float and t.bits <= 8)
SHORT_INTEGERS = frozenset(t for t in DataType if t.is_integer and t.bits < 8)
CODED_TYPES = MINIFLOAT_TYPES | SHORT_INTEGERS
# The types of all tensors that elementwise kernels read and write.
STORED_ELEMENTS: Mapping[DataType, Element] = {
    **LLVM_ELEMENTS,
    **dict[DataType, Element].fromkeys(CODED_TYPES, "u8"),
}

HALF_TYPES = frozenset({DataType.FLOAT16, DataType.BFLOAT16})  # computed in float32


def memory_type(dtype: DataType) -> LLVMType:
    """The type of an element in memory."""
    return LLVMType("u8" if dtype is DataType.BOOL else STORED_ELEMENTS[dtype])


def from_memory(value: LLVMValue, dtype: DataType) -> LLVMValue:
    """A loaded value, converted to its type in registers."""
    return value.ne(0) if dtype is DataType.BOOL else value


def to_memory(value: LLVMValue, dtype: DataType) -> LLVMValue:
    """A value, converted to its type in memory, to be stored."""
    assert value.type.element == STORED_ELEMENTS[dtype], f"stored value must be {dtype.text}; got {value}"
    return value.convert("zext", "u8") if dtype is DataType.BOOL else value


def convert(builder: FunctionBuilder, value: LLVMValue, element: Element) -> LLVMValue:
    """A value as another element type; the semantics are those of `expressions.Cast`."""
    source, target = value.type, value.type.with_element(element)
    if source == target:
        return value
    if source.is_half:
        return convert(builder, extend_half(builder, value), element)
    if target.is_half:
        return truncate_to_half(builder, convert_to_float(builder, value), element)
    if element == "i1":
        return value.ne(0)
    if source.is_float and target.is_float:
        return value.convert("fpext" if element == "double" else "fptrunc", element)
    if source.is_float:
        return convert(builder, truncate_to_integer(builder, value, target), element)
    if target.is_float:
        unsigned = source.is_unsigned or source.element == "i1"
        return value.convert("uitofp" if unsigned else "sitofp", element)
    return resize_integer(value, element)


def convert_to_float(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """A number as float32, rounded to odd if it is wider, so that a second rounding to half precision is exact.

    See Boldo and Melquiond, "When double rounding is odd" (2005).
    """
    llvm_type = value.type
    if llvm_type.bits == 64 and not llvm_type.is_float:
        value = round_to_odd_double(builder, emit_abs(builder, value), value)
    elif llvm_type.bits == 32 and not llvm_type.is_float:
        value = convert(builder, value, "double")
    if value.type.element == "double":
        return round_to_odd_float(builder, value)
    return convert(builder, value, "float")


def resize_integer(value: LLVMValue, element: Element) -> LLVMValue:
    """Integers extended, or truncated to the low bits."""
    source, target = value.type, value.type.with_element(element)
    if source.bits == target.bits:
        return LLVMValue(value.builder, target, value.name)
    if source.bits > target.bits:
        return value.convert("trunc", element)
    return value.convert("zext" if source.is_unsigned or source.bits == 1 else "sext", element)


def truncate_to_integer(builder: FunctionBuilder, value: LLVMValue, target: LLVMType) -> LLVMValue:
    """Floats rounded toward zero, as int32, or as int64 if the target type needs it; the lowest integer for floats out of range."""
    if target.element == "u64":
        return truncate_to_uint64(builder, value)
    is_long = target.bits == 64 or target.element == "u32"
    limit = 2.0 ** (63 if is_long else 31)
    integral = builder.call_intrinsic("trunc", value)
    in_range = (integral >= -limit) & (integral < limit)
    safe = builder.select(in_range, integral, builder.constant(-limit, value.type))
    return safe.convert("fptosi", "i64" if is_long else "i32")


def truncate_to_uint64(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """Floats rounded toward zero as the bits of uint64.

    Floats from 2**63 on exceed int64, so 2**63 is subtracted before the conversion, and then the highest bit is set.
    """
    signed = value.type.with_element("i64")
    is_high = value >= 2.0**63
    rest = builder.select(is_high, value - 2.0**63, value)
    high = builder.select(is_high, -(2**63), builder.constant(0, signed))
    return truncate_to_integer(builder, rest, signed) ^ high
