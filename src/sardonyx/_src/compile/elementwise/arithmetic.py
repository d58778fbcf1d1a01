"""Arithmetic, comparisons and casts of operators as values of one element."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from sardonyx._src.compile.elements import ELEMENTS
from sardonyx._src.compile.elementwise.given import Given, Rule, apply
from sardonyx._src.compile.loops.ir import Apply, Cast, Number, Scalar
from sardonyx._src.compile.values import is_number
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array


def folded(op: str) -> Rule:
    """An operator of any number of inputs, from the first one on."""
    return lambda given: reduce(lambda a, b: Apply(op, (a, b)), given.all)


def mean(given: Given) -> Scalar | None:
    return apply("div", reduce(lambda a, b: apply("add", a, b), given.all), len(given.all))


def swapped(op: str) -> Rule:
    """The operation of the second input and the first."""
    return lambda given: Apply(op, given.all[::-1])


def divided(given: Given) -> Scalar | None:
    """Integers by known numbers alone: a division by zero is an error, which kernels cannot raise."""
    return None if given.dtype.is_integer and not is_divisor(given.all[1]) else Apply("div", given.all)


def modulo(given: Given) -> Scalar | None:
    """Integers by known numbers alone, as they are divided."""
    if given.dtype.is_integer and not is_divisor(given.all[1]):
        return None
    return Apply("fmod" if given.attributes["fmod"] else "mod", given.all)


def is_divisor(value: Scalar) -> bool:
    return isinstance(value, Number) and value.value != 0


def power(given: Given) -> Scalar | None:
    """Small known powers are written out; others are a function of float."""
    (x, y), dtype = given.all, given.dtype
    if isinstance(y, Number):
        found = known_power(x, y.value, given)
        if found is not None or dtype.is_integer:
            return found
    both_float = dtype is DataType.FLOAT and (isinstance(y, Number) or given.types[1] is DataType.FLOAT)
    return apply("pow", x, y) if both_float else None


def known_power(x: Scalar, y: float, given: Given) -> Scalar | None:
    if given.dtype.is_integer and not (given.types[1] is not None and given.types[1].is_integer):
        return None  # which is computed in floats, and can fail
    if y == 1:
        return x
    if y == 2:
        return apply("mul", x, x)
    if y == 3:
        return apply("mul", apply("mul", x, x), x)
    if given.dtype.is_integer:
        return None
    return apply({-1: "reciprocal", 0.5: "sqrt"}[y], x) if y in (-1, 0.5) else None


def where(given: Given) -> Scalar:
    condition, x, y = given.all
    dtype = given.types[1]
    if dtype is not None and is_number(x) and is_number(y):
        x = Cast(dtype, x)
    return Apply("where", (condition, x, y))


def cast(given: Given) -> Scalar | None:
    to = given.attributes["to"]
    assert isinstance(to, int), f"to of Cast is {to!r}"
    dtype = DataType.numbered(to)
    if dtype not in ELEMENTS or (given.dtype.is_float and dtype is DataType.UINT64):
        return None
    return given.x if dtype is given.dtype else Cast(dtype, given.x)


def identity(given: Given) -> Scalar:
    return given.x


def is_inf(given: Given) -> Scalar:
    x, positive, negative = given.x, given.attributes["detect_positive"], given.attributes["detect_negative"]
    if positive and negative:
        return apply("isinf", x)
    if positive or negative:
        return apply("eq", x, math.inf if positive else -math.inf)
    return apply("lt", x, x)  # nowhere


def batch_normalization(given: Given) -> Scalar | None:
    """x, scale, bias, mean and variance, which the caller lays along the channels; for inference.

    In the place of the four others may stand the two `normalization_columns`.
    """
    if given.attributes.get("training_mode"):
        return None
    if len(given.all) == 3:
        return Apply("fma", given.all)
    x, scale, bias, mean, variance = given.all
    factor = apply("div", scale, apply("sqrt", apply("add", variance, given.real("epsilon"))))
    return apply("add", apply("mul", apply("sub", x, mean), factor), bias)


def normalization_columns(
    scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float
) -> tuple[Array, Array]:
    """Factor and addend, float32 as the others are, with which BatchNormalization is x * factor + addend."""
    scale, bias, mean, variance = (a.astype(np.float64) for a in (scale, bias, mean, variance))
    factor = scale / np.sqrt(variance + epsilon)
    return factor.astype(np.float32), (bias - mean * factor).astype(np.float32)
