"""Elementwise operations of one or two operators, for tensors that broadcast in the ways of networks.

The interpreter computes longer expressions until they are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import ALL, COMMON, Dims, VariantBuilder

# Dims of two operands, the first of which has those of the result.
PAIRS: tuple[tuple[Dims, Dims], ...] = (
    (("N", 8), ("N", 8)),
    (("N", 8), ()),
    (("N", 8), (8,)),
    (("N", 8), ("N", 1)),
    ((1, 4, "N", 8), (1, 1, "N", 8)),
    ((2, 4, "N", 8), (2, 1, "N", 8)),
    ((2, 4, "N", 8), (4, 1, 1)),
    ((2, "N", 8), (2, 1, 8)),
    ((2, 4, "N", 8), (2, 1, 1, 8)),
)
UNARY = (
    "Abs Neg Exp Log Sqrt Reciprocal Sin Cos Erf Floor Ceil Round Sign Sigmoid Tanh Relu Softplus Softsign Elu "
    "Selu HardSwish HardSigmoid Gelu Mish"
).split()
BINARY = "Add Sub Mul Div Pow Max Min".split()
COMPARISONS = "Equal Less LessOrEqual Greater GreaterOrEqual".split()
INTEGERS = "Add Sub Mul Max Min Equal Less LessOrEqual Greater GreaterOrEqual".split()
CASTS = ("float32", "float64", "int32", "int64", "bool", "uint8", "float16")
Rule = Callable[[VariantBuilder, Any, Any], Any]
PAIR_RULES: tuple[Rule, ...] = (
    *((lambda b, x, y, name=name: getattr(b, name)(x, y)) for name in (*BINARY, *COMPARISONS)),
    *(
        (lambda b, x, y, name=name: getattr(b, name)(y, x))
        for name in ("Add", "Sub", "Mul", "Div", *COMPARISONS)
    ),
    *((lambda b, x, y, f=f: f(b, x + y)) for name, f in COMMON.items() if name),
    *((lambda b, x, y, name=name: getattr(b, name)(x - y)) for name in ("Exp", "Abs")),
    lambda b, x, y: x * b.Sigmoid(y),
    lambda b, x, y: b.Sigmoid(x) * y,
    lambda b, x, y: x * x + y * y,
    lambda b, x, y: (x - y) * (x - y),
    lambda b, x, y: b.Sqrt(x + y),
    lambda b, x, y: b.Sin(x * y),
    lambda b, x, y: b.Cos(x * y),
    lambda b, x, y: b.Where(x < y, x, y),
)


def models() -> Iterator[Model]:
    yield unary()
    for first, second in PAIRS:
        yield pairs(first, second)
    yield from (integers(first, second) for first, second in PAIRS[:4])
    yield casts()


def unary() -> Model:
    """Single operators; also of an operand whose rows are part of longer ones."""
    b = VariantBuilder()
    for name in UNARY:
        b.result(getattr(b, name)(b.operand("N", 8)))
    for name, activation in ALL.items():
        if name:
            b.result(activation(b, b.operand("N", 8)))
    for name, activation in ALL.items():
        if name:
            b.result(activation(b, b.Slice(b.operand(4, "N", 8), [0], [4], [2])))
    for name in (*UNARY, "Not"):
        x = b.operand(4, "N", 8, dtype="bool" if name == "Not" else "float32")
        b.result(getattr(b, name)(b.Slice(x, [0], [4], [2])))
    x = b.operand("N", 8)
    b.result(x * x)
    x = b.operand("N", 8)
    b.result(x * x * x)
    x = b.operand("N", 8)
    b.result(np.float32(1) - x)
    x = b.operand("N", 8)
    b.result(x + np.float32(1))
    for exponent in (2.0, 0.5, -0.5, 1.5):
        b.result(b.Pow(b.operand("N", 8), np.float32(exponent)))
    for low, high in ((0, 6), (0, 1), (-1, 1)):
        b.result(b.Clip(b.operand("N", 8), np.float32(low), np.float32(high)))
    return b.finish()


def pairs(first: Dims, second: Dims) -> Model:
    b = VariantBuilder()
    for rule in PAIR_RULES:
        b.result(rule(b, b.operand(*first), b.operand(*second)))
    b.result(b.Where(b.operand(*first, dtype="bool"), b.operand(*first), b.operand(*second)))
    b.result(b.Where(b.operand(*second, dtype="bool"), b.operand(*first), np.float32(0)))
    b.result(b.Where(b.operand(*second, dtype="bool"), np.float32(0.5), b.operand(*first)))
    for name in ("And", "Or", "Xor"):
        b.result(getattr(b, name)(b.operand(*first, dtype="bool"), b.operand(*second, dtype="bool")))
    return b.finish()


def integers(first: Dims, second: Dims) -> Model:
    b = VariantBuilder()
    for dtype in ("int64", "int32"):
        for name in INTEGERS:
            b.result(getattr(b, name)(b.operand(*first, dtype=dtype), b.operand(*second, dtype=dtype)))
        x, y = b.operand(*first, dtype=dtype), b.operand(*second, dtype=dtype)
        b.result(b.Where(b.operand(*first, dtype="bool"), x, y))
        x, zero = b.operand(*first, dtype=dtype), np.zeros((), dtype)
        b.result(b.Where(x < zero, x + b.operand(*second, dtype=dtype), x))
    return b.finish()


def casts() -> Model:
    b = VariantBuilder()
    for source in CASTS:
        for to in CASTS:
            if source != to:
                b.result(b.Cast(b.operand("N", 8, dtype=source), to=to))
    return b.finish()
