"""What sets of elements come to: sums, products, extremes, norms, and logarithms of sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sardonyx._src.compile.text import Element, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.dtypes import DataType

Name = Literal[
    "sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"
]  # fmt: skip
ELEMENTS: dict[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
}
INTEGERS = ("i32", "i64")
OF_INTEGERS = ("sum", "max", "min", "prod", "sum_square")
OF_FLOAT32 = ("log_sum", "log_sum_exp")
NOTHING = -104.0  # e to this power rounds to 0
LEAST: dict[Element, int] = {"i32": -(2**31), "i64": -(2**63)}


@dataclass(frozen=True, slots=True)
class Fold:
    """How elements are taken together two by two, beginning with `start`, after `term` of each and before `finish`.

    finish: gets what all came to and, as a number of that kind, how many they were.
    """

    start: float
    join: Callable[[KernelText, Value, Value], Value]
    term: Callable[[KernelText, Value], Value] = lambda code, x: x
    finish: Callable[[KernelText, Value, Value], Value] = lambda code, x, count: x


def fold_of(name: Name, element: Element) -> Fold | None:
    """The fold of an operator for elements of a type; None where there is none."""
    if (element in INTEGERS and name not in OF_INTEGERS) or (element != "float" and name in OF_FLOAT32):
        return None
    if name in ("max", "min"):
        return extreme(name, element)
    return FOLDS[name]


def extreme(name: str, element: Element) -> Fold:
    """The greatest or the least element, NaN if there is one; of nothing the far end of the type."""
    is_max = name == "max"
    if element in INTEGERS:
        low = LEAST[element]
        called = "smax" if is_max else "smin"
        return Fold(low if is_max else -low - 1, lambda code, a, b: code.intrinsic(called, a, b))
    called = "maximum" if is_max else "minimum"
    return Fold(-math.inf if is_max else math.inf, lambda code, a, b: code.intrinsic(called, a, b))


def added(code: KernelText, a: Value, b: Value) -> Value:
    return a + b


def squared(code: KernelText, x: Value) -> Value:
    return x * x


def exponential(code: KernelText, x: Value) -> Value:
    """e to the power x.

    What comes to 0 is kept away from `exp`: results below the normal numbers cost processors a hundred cycles.
    """
    is_nothing = x < NOTHING
    zero = code.constant(0, x.kind)
    return code.select(is_nothing, zero, code.applied("exp", code.select(is_nothing, zero, x)))


def logarithm(code: KernelText, x: Value, count: Value) -> Value:
    return code.applied("log", x)


FOLDS: Mapping[str, Fold] = {
    "sum": Fold(0, added),
    "mean": Fold(0, added, finish=lambda code, x, count: x / count),
    "prod": Fold(1, lambda code, a, b: a * b),
    "l1": Fold(0, added, lambda code, x: code.absolute(x)),
    "l2": Fold(0, added, squared, lambda code, x, count: code.intrinsic("sqrt", x)),
    "sum_square": Fold(0, added, squared),
    "log_sum": Fold(0, added, finish=logarithm),
    "log_sum_exp": Fold(0, added, exponential, logarithm),  # of elements less the greatest one
}
