"""The instructions of the interpreter, each of which applies one operation to blocks of elements.

A block is up to `BLOCK` elements of one type in a slot of the stack.  An instruction is one of the elementwise variants
of `instructions`, so that its code is that of an elementwise kernel with a single operation, and its results have the same
bits.  The number of an instruction is its position there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from sardonyx._src.compile.codegen.expressions import FUNCTION_CALLS, Apply, Cast, Local, Scalar, Select
from sardonyx._src.compile.kernels.elementwise.variant import (
    AccessPattern,
    ElementwiseOperand,
    ElementwiseVariant,
)
from sardonyx._src.dtypes import DataType

BLOCK = 256  # elements; a block of float32 is 1 KiB, so that those of an expression stay in the L1 cache
SLOT_BYTES = BLOCK * 8
MAX_SLOTS, MAX_TENSORS = 32, 24  # of the stack frame
X, Y, Z = (Local(f"i{i}") for i in range(3))
FLOAT, DOUBLE, INT64, INT32, BOOL = (
    DataType.FLOAT,
    DataType.DOUBLE,
    DataType.INT64,
    DataType.INT32,
    DataType.BOOL,
)
# Elements are moved as integers of their width, except bools, of which any byte but 0 is true.
MOVED = (BOOL, DataType.UINT8, DataType.INT16, INT32, INT64)
ACCESSES: tuple[AccessPattern, ...] = ("same", "next", "far")
SEVERAL_OPERANDS = ("celu", "elu", "pow", "selu")  # vector functions
UNARY: Mapping[DataType, str] = {
    FLOAT: "abs ceil floor isinf isnan neg reciprocal round sign sqrt trunc "
    + " ".join(sorted(FUNCTION_CALLS - set(SEVERAL_OPERANDS))),
    INT64: "abs neg sign",
    INT32: "abs neg sign",
    BOOL: "not",
}
BINARY: Mapping[DataType, str] = {
    FLOAT: "add celu div elu eq fmod le lt max min mod mul pow sub",
    DOUBLE: "add div eq le lt max min mul sub",
    INT64: "add and div eq le lt max min mod mul or sub",
    INT32: "add and div eq le lt max min mod mul or sub",
    BOOL: "and eq or xor",
}
TERNARY: Mapping[DataType, str] = {FLOAT: "clamp fma selu", INT64: "clamp", INT32: "clamp"}
# A maximum or minimum with a constant is one instruction, and treats zeros otherwise than one of two operands.
LIMITS = {"max": Select("lt", X, Y, Y, X), "min": Select("lt", Y, X, Y, X)}
CASTS: tuple[tuple[DataType, DataType], ...] = (
    *((FLOAT, dtype) for dtype in (INT64, INT32, BOOL, DataType.UINT8, DataType.INT8, DOUBLE)),
    *((dtype, FLOAT) for dtype in (INT64, INT32, BOOL, DataType.UINT8, DataType.INT8, DOUBLE)),
    *((FLOAT, dtype) for dtype in (DataType.FLOAT16, DataType.BFLOAT16)),
    *((dtype, FLOAT) for dtype in (DataType.FLOAT16, DataType.BFLOAT16)),
    *((a, b) for a in (INT64, INT32, BOOL) for b in (INT64, INT32, BOOL)),
    (FLOAT, FLOAT),
    (DOUBLE, DOUBLE),
)


@cache
def instruction_numbers() -> Mapping[str, int]:
    """The number of each instruction, by its name."""
    return {name: i for i, (name, _) in enumerate(instructions())}


def instructions() -> Iterator[tuple[str, ElementwiseVariant]]:
    """The name of each instruction, and the variant whose code it is."""
    for dtype in MOVED:
        for access in ACCESSES:
            yield move_name("load", dtype, access), variant(X, dtype, dtype, access=access)
        block = ElementwiseOperand(dtype, "next")
        for stored in (block, ElementwiseOperand(dtype, "far")):
            yield move_name("store", dtype, stored.access), ElementwiseVariant((X,), (stored,), (block,), 0)
    for table, operands in ((UNARY, (X,)), (BINARY, (X, Y)), (TERNARY, (X, Y, Z))):
        for dtype, names in table.items():
            for name in names.split():
                result = result_type(name, dtype)
                yield f"{name}.{dtype.text}", variant(Apply(name, operands), result, *[dtype] * len(operands))
    for name, value in LIMITS.items():
        for dtype in (FLOAT, DOUBLE):
            yield f"{name} limit.{dtype.text}", variant(value, dtype, dtype, dtype)
    for dtype in (FLOAT, DOUBLE, INT64, INT32, BOOL):
        yield f"where.{dtype.text}", variant(Apply("where", (X, Y, Z)), dtype, BOOL, dtype, dtype)
    for source, to in CASTS:
        yield cast_name(source, to), variant(Cast(to, X), to, source)


def variant(
    value: Scalar, result: DataType, *operands: DataType, access: AccessPattern = "next"
) -> ElementwiseVariant:
    """The variant of an expression of blocks."""
    inputs = tuple(ElementwiseOperand(dtype, access) for dtype in operands)
    return ElementwiseVariant((value,), (ElementwiseOperand(result, "next"),), inputs, 0)


def result_type(operation: str, dtype: DataType) -> DataType:
    """The element type of the result of an operation on operands of a type."""
    return BOOL if operation in ("lt", "le", "eq", "isnan", "isinf") else dtype


def move_name(direction: str, dtype: DataType, access: AccessPattern) -> str:
    return f"{direction}.{dtype.text}.{access}"


def cast_name(source: DataType, to: DataType) -> str:
    return f"cast.{source.text}.{to.text}"
