"""Casts between element types as scalar expressions, also of coded types: minifloats and integers of fewer than 8 bits.

An element of a coded type is a byte with its code, in memory and in registers.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import MINIFLOAT_TYPES, SHORT_INTEGERS, STORED_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Cast, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, apply
from sardonyx._src.dtypes import DataType


def cast(call: OperatorCall) -> Scalar | None:
    """Cast between numbers and bool of any width; None for other element types."""
    # Lazy: few models have minifloats.
    from sardonyx._src.compile.codegen.minifloats import ROUNDING_INCREMENTS

    to, round_mode = call.attributes["to"], call.attributes.get("round_mode", "up")
    assert isinstance(to, int), f"attribute to of Cast must be an integer; got {to!r}"
    dtype = DataType.from_number(to)
    if dtype not in STORED_ELEMENTS or round_mode not in ROUNDING_INCREMENTS:
        return None
    if dtype is call.dtype:
        return call.x
    saturate = bool(call.attributes.get("saturate", 1))
    return encode(decode(call.x, call.dtype), dtype, saturate=saturate, round_mode=str(round_mode))


def decode(x: Scalar, dtype: DataType) -> Scalar:
    """The number of an element: decodes the code of a coded type; other elements are numbers already."""
    from sardonyx._src.compile.codegen.minifloats import decode_operation  # lazy: few models have minifloats

    if dtype in MINIFLOAT_TYPES and not isinstance(x, Number):
        return apply(decode_operation(dtype), x)
    if dtype not in SHORT_INTEGERS or isinstance(x, Number):
        return x
    code = apply("and", x, (1 << dtype.bits) - 1)
    if not dtype.is_signed:
        return code
    sign = 1 << dtype.bits - 1
    return apply("sub", apply("xor", Cast(DataType.INT8, code), sign), sign)


def encode(number: Scalar, to: DataType, *, saturate: bool = True, round_mode: str = "up") -> Scalar:
    """An element of type `to` from a number: rounded for floats, modulo 2 ** bits for integers; a code for coded types."""
    from sardonyx._src.compile.codegen.minifloats import encode_operation  # lazy: few models have minifloats

    if to in SHORT_INTEGERS:
        return apply("and", Cast(DataType.UINT8, number), (1 << to.bits) - 1)
    if to not in MINIFLOAT_TYPES:
        return Cast(to, number)
    if isinstance(number, Number):
        number = Cast(DataType.FLOAT, number)
    return apply(encode_operation(to, saturate=saturate, round_mode=round_mode), number)
