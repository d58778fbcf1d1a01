"""Element types in memory and in registers, and what it takes from one to another."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.halves import narrowed, odd_double, odd_float, widened
from sardonyx._src.compile.integers import absolute
from sardonyx._src.compile.text import Code, Element, Kind, Value
from sardonyx._src.dtypes import DataType

# What kernels compute with; a bool is one bit there, and a byte in memory.
ELEMENTS: Mapping[DataType, Element] = {
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

HALVES = frozenset({DataType.FLOAT16, DataType.BFLOAT16})  # that are computed with as float32


def memory(dtype: DataType) -> Kind:
    """How an element stands in memory."""
    return Kind("u8" if dtype is DataType.BOOL else ELEMENTS[dtype])


def fetched(value: Value, dtype: DataType) -> Value:
    """What was read from memory, as kernels compute with it."""
    return value.differs(0) if dtype is DataType.BOOL else value


def storable(value: Value, dtype: DataType) -> Value:
    """A value as it stands in memory."""
    assert value.kind.element == ELEMENTS[dtype], f"{value} is not of {dtype.text}"
    return value.converted("zext", "u8") if dtype is DataType.BOOL else value


def converted(code: Code, value: Value, element: Element) -> Value:
    """A value as another element type, as `loops.ir.Cast` says."""
    source, target = value.kind, value.kind.of(element)
    if source == target:
        return value
    if source.is_half:
        return converted(code, widened(code, value), element)
    if target.is_half:
        return narrowed(code, as_float(code, value), element)
    if element == "i1":
        return value.differs(0)
    if source.is_float and target.is_float:
        return value.converted("fpext" if element == "double" else "fptrunc", element)
    if source.is_float:
        return converted(code, cut(code, value, target), element)
    if target.is_float:
        unsigned = source.is_unsigned or source.element == "i1"
        return value.converted("uitofp" if unsigned else "sitofp", element)
    return resized(value, element)


def as_float(code: Code, value: Value) -> Value:
    """A number as float32, so that what is rounded to fewer bits next is as if it had been rounded once."""
    kind = value.kind
    if kind.bits == 64 and not kind.is_float:
        value = odd_double(code, absolute(code, value), value)
    elif kind.bits == 32 and not kind.is_float:
        value = converted(code, value, "double")
    if value.kind.element == "double":
        return odd_float(code, value)
    return converted(code, value, "float")


def resized(value: Value, element: Element) -> Value:
    """Integers in more or fewer bits; what does not fit is cut off."""
    source, target = value.kind, value.kind.of(element)
    if source.bits == target.bits:
        return Value(value.code, target, value.name)
    if source.bits > target.bits:
        return value.converted("trunc", element)
    return value.converted("zext" if source.is_unsigned or source.bits == 1 else "sext", element)


def cut(code: Code, value: Value, target: Kind) -> Value:
    """Floats without fraction as int32, or as int64 on the way to a type that needs it; the lowest number beyond."""
    assert target.element != "u64", "floats beyond int64 have no way to uint64"
    is_long = target.bits == 64 or target.element == "u32"
    end = 2.0 ** (63 if is_long else 31)
    whole = code.intrinsic("trunc", value)
    inside = (whole >= -end) & (whole < end)
    safe = code.select(inside, whole, code.constant(-end, value.kind))
    return safe.converted("fptosi", "i64" if is_long else "i32")
