"""Activations as values of one element; each says what it does as its reference kernel in `ops/math` does."""

from __future__ import annotations

import math

from sardonyx._src.compile.elementwise.given import Given, apply
from sardonyx._src.compile.loops.ir import Number, Scalar, Select
from sardonyx._src.dtypes import DataType

SLOPE = 2 * math.sqrt(2 / math.pi)  # 1 + tanh(t) is 2 * sigmoid(2 * t)
BEND = 0.044715


def relu(given: Given) -> Scalar:
    return apply("max", given.x, 0)


def leaky_relu(given: Given) -> Scalar:
    x = given.x
    return Select("lt", x, Number(0), apply("mul", given.real("alpha"), x), x)


def prelu(given: Given) -> Scalar:
    x, slope = given.all
    return Select("lt", x, Number(0), apply("mul", slope, x), x)


def thresholded_relu(given: Given) -> Scalar:
    return Select("lt", given.real("alpha"), given.x, given.x, Number(0))


def elu(given: Given) -> Scalar:
    return apply("elu", given.x, given.real("alpha"))


def celu(given: Given) -> Scalar | None:
    """None where alpha is 0, by which nothing can be divided."""
    alpha = given.real("alpha")
    return apply("celu", given.x, alpha) if alpha.value != 0 else None


def selu(given: Given) -> Scalar:
    return apply("selu", given.x, given.real("alpha"), given.real("gamma"))


def softsign(given: Given) -> Scalar:
    return apply("div", given.x, apply("add", apply("abs", given.x), 1))


def hard_sigmoid(given: Given) -> Scalar:
    line = apply("add", apply("mul", given.real("alpha"), given.x), given.real("beta"))
    return apply("max", apply("min", line, 1), 0)


def hard_swish(given: Given) -> Scalar:
    line = apply("add", apply("mul", given.x, 1 / 6), 0.5)
    return apply("mul", given.x, apply("max", apply("min", line, 1), 0))


def swish(given: Given) -> Scalar:
    x, alpha = given.x, given.real("alpha")
    if alpha.value == 1:
        return apply("silu", x)
    return apply("mul", x, apply("sigmoid", apply("mul", alpha, x)))


def gelu(given: Given) -> Scalar | None:
    x, approximate = given.x, given.attributes["approximate"]
    if approximate == "none":
        return apply("gelu", x)
    if approximate != "tanh":
        return None
    bent = apply("add", apply("mul", apply("mul", x, x), SLOPE * BEND), SLOPE)
    return apply("mul", x, apply("sigmoid", apply("mul", x, bent)))


def clip(given: Given) -> Scalar:
    """A limit left out is the greatest or the least number of floats; integers have none beyond."""
    x, low, high = given.x, given.optional(1), given.optional(2)
    most = MOST.get(given.dtype)
    if low is None and most is not None:
        low = Number(-most)
    if high is None and most is not None:
        high = Number(most)
    raised = x if low is None else apply("max", x, low)
    return raised if high is None else apply("min", raised, high)


MOST = {
    DataType.FLOAT: float.fromhex("0x1.fffffep127"),
    DataType.DOUBLE: float.fromhex("0x1.fffffffffffffp1023"),
}
