"""Loops run by Python, one step after another: slow, plain, and the judge of what compiled kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.compile.loops.ir import (
    Apply,
    Cast,
    For,
    Kernel,
    Load,
    Local,
    Number,
    Place,
    Put,
    Scalar,
    Select,
    Statement,
    Store,
)
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.quantization.conversion import Rule, convert

Element: TypeAlias = Any  # a NumPy scalar, or a number of Python's, which takes the type of what is beside it
FLOATS = (np.float32, np.float64)


def over(function: Callable[..., object]) -> Callable[..., Element]:
    """A function of floats, worked out in double precision and rounded once to the type of the first."""

    def rounded(*args: Element) -> Element:
        return args[0].dtype.type(function(*map(np.float64, args)))

    return rounded


def quotient(a: Element, b: Element) -> Element:
    if isinstance(a, FLOATS):
        return a / b
    return a.dtype.type(0) if b == 0 else (a - left_over(a, b)) // b


def left_over(a: Element, b: Element) -> Element:
    if isinstance(a, FLOATS):
        return np.fmod(a, b)
    return a.dtype.type(0) if b == 0 else np.fmod(a, b)


APPLY: Mapping[str, Callable[..., Element]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "rsqrt": over(lambda x: 1 / np.sqrt(x)),
    "reciprocal": lambda x: 1 / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "exp": over(np.exp),
    "exp2": over(np.exp2),
    "expm1": over(np.expm1),
    "log": over(np.log),
    "log1p": over(np.log1p),
    "sin": over(np.sin),
    "cos": over(np.cos),
    "tanh": over(np.tanh),
    "erf": over(math.erf),
    "sigmoid": over(lambda x: 1 / (1 + np.exp(-x))),
    "silu": over(lambda x: x / (1 + np.exp(-x))),
    "softplus": over(lambda x: np.logaddexp(x, 0)),
    "mish": over(lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "gelu": over(lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "not": np.invert,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": quotient,
    "mod": lambda a, b: left_over(a, b) if b == 0 else np.mod(a, b),
    "fmod": left_over,
    "max": np.maximum,
    "min": np.minimum,
    "pow": over(np.power),
    "elu": over(lambda x, alpha: x if x > 0 else alpha * np.expm1(x)),
    "celu": over(lambda x, alpha: x if x > 0 else alpha * np.expm1(x / alpha)),
    "clamp": lambda x, low, high: np.fmin(np.fmax(x, low), high),
    "selu": over(lambda x, alpha, gamma: gamma * (x if x > 0 else alpha * np.expm1(x))),
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "fma": over(lambda a, b, c: a * b + c),
    "where": lambda condition, a, b: a if condition else b,
}
COMPARE: Mapping[str, Callable[..., object]] = {"lt": np.less, "le": np.less_equal, "eq": np.equal}


def run(kernel: Kernel, buffers: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Runs a kernel over buffers, which are changed in place; functions are rounded once."""
    for buffer in kernel.buffers:
        assert buffers[buffer.name].size >= number(buffer.size, sizes), f"{buffer.name} is too short"
    with np.errstate(all="ignore"):
        Run({name: array.reshape(-1) for name, array in buffers.items()}).body(kernel.body, {}, dict(sizes))


class Run:
    def __init__(self, buffers: Mapping[str, Array]) -> None:
        self.buffers = buffers

    def body(self, body: Sequence[Statement], names: dict[str, Element], places: dict[str, int]) -> None:
        for statement in body:
            match statement:
                case Put():
                    names[statement.name] = self.value(statement.value, names, places)
                case Store():
                    at = number(statement.at, places)
                    assert 0 <= at < self.buffers[statement.buffer].size, f"{statement.buffer}[{at}]"
                    self.buffers[statement.buffer][at] = self.value(statement.value, names, places)
                case For():
                    self.loop(statement, names, places)

    def loop(self, loop: For, names: dict[str, Element], places: dict[str, int]) -> None:
        for i in range(number(loop.extent, places)):
            inner = dict(names)
            self.body(loop.body, inner, {**places, loop.variable: i})
            names.update({name: inner[name] for name in names})

    def value(self, value: Scalar, names: Mapping[str, Element], places: Mapping[str, int]) -> Element:
        match value:
            case Number():
                return value.value
            case Local():
                return names[value.name]
            case Load():
                at = number(value.at, places)
                assert 0 <= at < self.buffers[value.buffer].size, f"{value.buffer}[{at}]"
                return self.buffers[value.buffer][at]
            case Cast():
                inner = np.asarray(self.value(value.value, names, places))
                return convert(inner, value.dtype, Rule())[()]
            case Apply():
                return APPLY[value.op](*alike([self.value(a, names, places) for a in value.args]))
            case Select():
                chosen = COMPARE[value.op](*alike([self.value(a, names, places) for a in (value.a, value.b)]))
                return self.value(value.then if chosen else value.otherwise, names, places)


def alike(values: list[Element]) -> list[Element]:
    """Numbers of Python's become of the type of the last value that has one, or floats."""
    types = [v.dtype for v in values if isinstance(v, np.generic)]
    kind = types[-1].type if types else np.float32
    return [v if isinstance(v, np.generic) else kind(v) for v in values]


def number(place: Place, places: Mapping[str, int]) -> int:
    if isinstance(place, Expr):
        found = place.substitute(dict(places))
        assert isinstance(found, int), f"{place} is not decided by {sorted(places)}"
        return found
    return place
