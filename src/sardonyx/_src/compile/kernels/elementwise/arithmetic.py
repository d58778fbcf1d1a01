"""Arithmetic, comparison and normalization operators as scalar expressions."""

from __future__ import annotations

import math
from functools import reduce

from sardonyx._src.compile.codegen.emit_expressions import is_untyped
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, ScalarRule, apply
from sardonyx._src.dtypes import DataType


def fold_rule(op: str) -> ScalarRule:
    """The rule of a variadic operator: a left fold of its inputs by a binary operation."""
    return lambda call: reduce(lambda a, b: Apply(op, (a, b)), call.inputs)


def swapped_rule(op: str) -> ScalarRule:
    """The rule of a binary operator that is another operation with swapped operands: a > b is b < a."""
    return lambda call: Apply(op, call.inputs[::-1])


def mean(call: OperatorCall) -> Scalar | None:
    return apply("div", reduce(lambda a, b: apply("add", a, b), call.inputs), len(call.inputs))


def div(call: OperatorCall) -> Scalar | None:
    """None for integers unless the divisor is a nonzero constant: other divisors are checked by a step (`integer_division`)."""
    is_unsafe = call.dtype.is_integer and not is_nonzero_constant(call.inputs[1])
    return None if is_unsafe else Apply("div", call.inputs)


def mod(call: OperatorCall) -> Scalar | None:
    """None for integers unless the divisor is a nonzero constant, as in `div`."""
    if call.dtype.is_integer and not is_nonzero_constant(call.inputs[1]):
        return None
    return Apply("fmod" if call.attributes["fmod"] else "mod", call.inputs)


def is_nonzero_constant(value: Scalar) -> bool:
    return isinstance(value, Number) and value.value != 0


def bit_shift(call: OperatorCall) -> Scalar | None:
    op = {"LEFT": "shl", "RIGHT": "shr"}.get(str(call.attributes["direction"]))
    return None if op is None else Apply(op, call.inputs)


def pow(call: OperatorCall) -> Scalar | None:
    """Small constant exponents become multiplications.  Others call the pow function in the type of x, or in float64 if the
    types differ.
    """
    (x, y), dtype = call.inputs, call.dtype
    if isinstance(y, Number):
        product = constant_power(x, y.value, call)
        if product is not None or dtype.is_integer:
            return product
    if dtype.is_integer:
        return None
    if isinstance(y, Number) or call.types[1] is dtype:
        return apply("pow", x, y)
    power = apply("pow", Cast(DataType.DOUBLE, x), Cast(DataType.DOUBLE, y))
    return power if dtype is DataType.DOUBLE else Cast(dtype, power)


def constant_power(x: Scalar, exponent: float, call: OperatorCall) -> Scalar | None:
    """x to the power of -1, 0.5, 1, 2 or 3 without the pow function; None for other exponents."""
    if call.dtype.is_integer and not (call.types[1] is not None and call.types[1].is_integer):
        return None  # The reference kernel computes it in floats, and fails if the result does not fit the integer type.
    if exponent == 1:
        return x
    if exponent == 2:
        return apply("mul", x, x)
    if exponent == 3:
        return apply("mul", apply("mul", x, x), x)
    if call.dtype.is_integer:
        return None
    return apply({-1: "reciprocal", 0.5: "sqrt"}[exponent], x) if exponent in (-1, 0.5) else None


def where(call: OperatorCall) -> Scalar:
    condition, x, y = call.inputs
    dtype = call.types[1]
    if dtype is not None and is_untyped(x) and is_untyped(y):
        x = Cast(dtype, x)
    return Apply("where", (condition, x, y))


def identity(call: OperatorCall) -> Scalar:
    return call.x


def is_inf(call: OperatorCall) -> Scalar:
    x, positive, negative = call.x, call.attributes["detect_positive"], call.attributes["detect_negative"]
    if positive and negative:
        return apply("isinf", x)
    if positive or negative:
        return apply("eq", x, math.inf if positive else -math.inf)
    return apply("lt", x, x)  # always false


def batch_normalization(call: OperatorCall) -> Scalar | None:
    """Inference of x, scale, bias, mean and variance, which the caller broadcasts along the channels."""
    if call.attributes.get("training_mode"):
        return None
    x, scale, bias, mean, variance = call.inputs
    factor = apply("div", scale, apply("sqrt", apply("add", variance, call.number_attribute("epsilon"))))
    return apply("add", apply("mul", apply("sub", x, mean), factor), bias)
