"""The operations of scalar expressions (`expressions.Apply`) as LLVM instructions, by their names.

Apart from `emit_expressions.py`, so that a process whose kernels are all in a library imports no table of operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.integer_ops import (
    emit_abs,
    emit_div,
    emit_fmod,
    emit_ipow,
    emit_mod,
    emit_shl,
    emit_shr,
)
from sardonyx._src.compile.codegen.math.double_functions import DOUBLE_FUNCTIONS
from sardonyx._src.compile.codegen.math.table import VECTOR_FUNCTIONS
from sardonyx._src.compile.codegen.minifloats import MINIFLOAT_CONVERSIONS

__all__ = ["BINARY_OPS", "DOUBLE_FUNCTIONS", "INTRINSIC_NAMES", "UNARY_OPS", "VECTOR_FUNCTIONS"]

INTRINSIC_NAMES = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven", "trunc": "trunc"}


def emit_max(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """max(a, b); NaN if either is NaN."""
    if not a.type.is_float:
        return builder.select(a > b, a, b)
    limit, x = (a, b) if a.is_constant else (b, a)
    if limit.is_constant and not is_nan(limit):
        return builder.select(limit > x, limit, x)  # one instruction; `maximum` needs several
    return builder.call_intrinsic("maximum", a, b)


def emit_min(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """min(a, b); NaN if either is NaN."""
    if not a.type.is_float:
        return builder.select(a < b, a, b)
    limit, x = (a, b) if a.is_constant else (b, a)
    if limit.is_constant and not is_nan(limit):
        return builder.select(limit < x, limit, x)
    return builder.call_intrinsic("minimum", a, b)


def is_nan(constant: LLVMValue) -> bool:
    return constant.name == constant.type.constant(float("nan"))


def emit_sign(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """-1, 0 or 1; NaN and signed zeros are kept."""
    positive = builder.select(x > 0, 1, x)
    return positive if x.type.is_unsigned else builder.select(x < 0, -1, positive)


def emit_isinf(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    return builder.fabs(x).eq(math.inf)


def emit_not(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """Bitwise or logical not."""
    return x ^ (1 if x.type.element == "i1" else builder.constant(-1, x.type))


UNARY_OPS: Mapping[str, Callable[[FunctionBuilder, LLVMValue], LLVMValue]] = {
    "neg": lambda builder, x: -x,
    "abs": lambda builder, x: builder.fabs(x) if x.type.is_float else emit_abs(builder, x),
    "reciprocal": lambda builder, x: 1 / x,
    "sign": emit_sign,
    "isnan": lambda builder, x: x.ne(x),
    "isinf": emit_isinf,
    "not": emit_not,
    **MINIFLOAT_CONVERSIONS,
}
BINARY_OPS: Mapping[str, Callable[[FunctionBuilder, LLVMValue, LLVMValue], LLVMValue]] = {
    "add": lambda builder, a, b: a + b,
    "sub": lambda builder, a, b: a - b,
    "mul": lambda builder, a, b: a * b,
    "div": lambda builder, a, b: a / b if a.type.is_float else emit_div(builder, a, b),
    "mod": emit_mod,
    "fmod": emit_fmod,
    "max": emit_max,
    "min": emit_min,
    "and": lambda builder, a, b: a & b,
    "or": lambda builder, a, b: a | b,
    "xor": lambda builder, a, b: a ^ b,
    "ipow": emit_ipow,
    "shl": emit_shl,
    "shr": emit_shr,
}
