"""Elementwise operators, chosen by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.random_graphs import B, F, Growing, Made
from compile.random_moves import Move
from sardonyx._src.dtypes import DataType

ROUNDED = (
    "Exp",
    "Sigmoid",
    "Tanh",
    "Erf",
    "Softplus",
    "Mish",
    "Sin",
    "Cos",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
)
BENT = ("Elu", "Selu", "Celu", "Swish", "Softsign")
SINGLE = ("Relu", "Neg", "Abs", "Sqrt", "LeakyRelu", "Reciprocal", "Sign", "ThresholdedRelu")
WHOLE = ("Floor", "Ceil", "Round")
COMPARED = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def has_signed_zeros(made: Made) -> bool:
    """Whether a value has zeros whose signs an engine may choose, as the greatest of zeros has."""
    return made.value.producer is not None and any(bool((a == 0).any()) for a in made.arrays)


def is_rounded_near_zero(made: Made) -> bool:
    """Whether a value is rounded and so small that quotients by it are nothing but its error."""
    return not made.is_exact and any(bool((np.abs(a) < 0.1).any()) for a in made.precise)


def unary(g: Growing) -> object:
    if g.coin(0.4):
        x, op_type = g.pick(), g.word(*SINGLE)
        if x is None or (op_type == "Reciprocal" and (has_signed_zeros(x) or is_rounded_near_zero(x))):
            return None
        return g.op(op_type, x, exact=True)
    if g.coin(0.2):
        x = g.pick(lambda m: m.is_exact)
        return x and g.op(g.word(*WHOLE), x, exact=True)
    x = g.pick()
    return x and g.op(g.word(*ROUNDED, *BENT), x)


def clip(g: Growing) -> object:
    x = g.pick()
    bounds = [g.constant(-0.5) if g.coin() else None, g.constant(0.75)]
    return x and g.op("Clip", x, *bounds, exact=True)


def partner(g: Growing, x: Made) -> Made:
    """A value or a constant that perhaps broadcasts with x."""
    if g.coin(0.5):
        other = g.pick(
            lambda m: all(broadcasts(a.shape, b.shape) for a, b in zip(m.arrays, x.arrays, strict=True))
        )
        if other is not None:
            return other
    dims = [d if f and g.coin() else 1 for f, d in zip(x.fixed, x.shape, strict=True)]
    lead = g.up_to(x.rank)
    return g.constant(g.normal(dims[lead:]))


def broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(m == n or m == 1 or n == 1 for m, n in pairs)


def binary(g: Growing) -> object:
    x = g.pick()
    if x is None:
        return None
    y = partner(g, x)
    both = [x, y] if g.coin() else [y, x]
    if g.coin(0.2):
        return g.op(g.word("Max", "Min"), *both, exact=True)
    exact = y in g.values  # constants of several operators are merged
    op_type = g.word("Add", "Add", "Mul", "Sub", "Div", "PRelu")
    if op_type == "Div" and (has_signed_zeros(both[1]) or is_rounded_near_zero(both[1])):
        return None
    return g.op(op_type, *both, exact=exact)


def residual(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 1)
    y = x and g.pick(lambda m: m is not x and [a.shape for a in m.arrays] == [a.shape for a in x.arrays])
    return x and y and g.op("Add", y, x, exact=True)


def several(g: Growing) -> object:
    x = g.pick()
    if x is None:
        return None
    return g.op(g.word("Sum", "Max", "Min", "Mean"), x, partner(g, x), partner(g, x))


def chosen(g: Growing) -> object:
    """A comparison, and what it decides between."""
    x = g.pick(lambda m: m.is_exact)
    if x is None:
        return None
    y = partner(g, x)
    test = y.is_exact and g.op(g.word(*COMPARED), x, y, exact=True)
    if not test:
        return None
    if g.coin(0.3):
        test = g.op("Not", test[0], exact=True) or test
    z = g.pick() or x
    return g.op("Where", test[0], z, partner(g, z), exact=True)


def integers(g: Growing) -> object:
    """To integers and back, with arithmetic between."""
    x = g.pick(lambda m: m.is_exact and all(np.abs(a).max(initial=0) < 1e4 for a in m.arrays))
    if x is None:
        return None
    dtype = (DataType.INT64, DataType.INT32, DataType.INT8, DataType.BOOL)[g.up_to(3)]
    there = g.op("Cast", x, to=dtype, exact=True)
    if there is None:
        return None
    if dtype in (DataType.INT64, DataType.INT32):
        number = g.constant(g.one((1, 2, 3, 5)), dtype.numpy.type)
        there = g.op(g.word("Add", "Mul", "Mod", "Div", "Max", "Sub"), there[0], number, exact=True) or there
    return g.op("Cast", there[0], to=F, exact=True) if g.coin(0.7) else there


def logic(g: Growing) -> object:
    a = g.pick(dtype=B)
    b = a and g.pick(lambda m: [x.shape for x in m.arrays] == [x.shape for x in a.arrays], B)
    made = a and b and g.op(g.word("And", "Or", "Xor"), a, b, exact=True)
    return made and g.op("Cast", made[0], to=F, exact=True)


ELEMENTWISE: tuple[Move, ...] = (
    unary, unary, unary, unary,
    clip,
    binary, binary, binary, binary,
    residual, residual,
    several, chosen, integers, logic,
)  # fmt: skip
