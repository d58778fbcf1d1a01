"""Loops run by Python, one step after another: slow, plain, and the judge of what compiled kernels do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import erf

import numpy as np

from sardonyx.compile.loops.ir import (
    Apply,
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
from sardonyx.ir.dims import Expr
from sardonyx.ir.tensors import Array

Element = np.float32

APPLY: Mapping[str, Callable[..., object]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": lambda x: np.exp(np.float64(x)),
    "log": lambda x: np.log(np.float64(x)),
    "tanh": lambda x: np.tanh(np.float64(x)),
    "erf": lambda x: erf(float(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.float64(x))),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": lambda a, b: np.power(np.float64(a), np.float64(b)),
}
COMPARE: Mapping[str, Callable[..., object]] = {"lt": np.less, "le": np.less_equal, "eq": np.equal}


def run(kernel: Kernel, buffers: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Runs a kernel over float32 buffers, which are changed in place; functions are rounded once."""
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
                return Element(value.value)
            case Local():
                return names[value.name]
            case Load():
                at = number(value.at, places)
                assert 0 <= at < self.buffers[value.buffer].size, f"{value.buffer}[{at}]"
                return Element(self.buffers[value.buffer][at])
            case Apply():
                return Element(APPLY[value.op](*(self.value(a, names, places) for a in value.args)))  # type: ignore[arg-type]
            case Select():
                chosen = COMPARE[value.op](*(self.value(a, names, places) for a in (value.a, value.b)))
                return self.value(value.then if chosen else value.otherwise, names, places)


def number(place: Place, places: Mapping[str, int]) -> int:
    if isinstance(place, Expr):
        found = place.substitute(dict(places))
        assert isinstance(found, int), f"{place} is not decided by {sorted(places)}"
        return found
    return place
