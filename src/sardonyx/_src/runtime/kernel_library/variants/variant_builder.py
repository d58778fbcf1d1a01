"""Models of many small independent graphs, each of which becomes a kernel or a few."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sardonyx._src.build.builder import Builder
from sardonyx._src.build.operand import Operand
from sardonyx._src.ir import Array, Model

OPSET = 22
SEED = 0
Dims = Sequence[int | str]
Rule = Callable[["VariantBuilder", Any], Any]  # from an operand to another, both of type `Operand`


class VariantBuilder(Builder):
    """A builder that names inputs and outputs.  Dims of inputs that are names are dynamic."""

    def __init__(self) -> None:
        super().__init__(OPSET)
        self.results: dict[str, Operand] = {}
        self.count = 0

    def operand(self, *dims: int | str, dtype: str = "float32") -> Any:
        """A new input."""
        self.count += 1
        return self.input(f"x{self.count}", dtype, [*dims])

    def weight(self, *dims: int) -> Array:
        """A constant of random elements: one of equal elements might be simplified."""
        self.count += 1
        draw = np.random.default_rng([SEED, self.count])
        return draw.uniform(0.1, 0.2, dims).astype(np.float32)

    def result(self, value: Any) -> None:
        self.results[f"y{len(self.results)}"] = value

    def finish(self) -> Model:
        outputs: dict[str, Any] = {**self.results}
        return self.model(**outputs)


def int64s(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def float32s(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def silu(b: VariantBuilder, x: Any) -> Any:
    return x * b.Sigmoid(x)


def leaky(alpha: float) -> Rule:
    """LeakyRelu with an attribute as files have it, of 32 bits."""
    return lambda b, x: b.LeakyRelu(x, alpha=float(np.float32(alpha)))


# Activations as exporters write them: those that convolutions of most networks have, and further ones.
COMMON: Mapping[str, Rule] = {
    "": lambda b, x: x,
    "Relu": lambda b, x: b.Relu(x),
    "silu": silu,
    "Sigmoid": lambda b, x: b.Sigmoid(x),
    "Tanh": lambda b, x: b.Tanh(x),
    "LeakyRelu": leaky(0.1),
}
RARE: Mapping[str, Rule] = {name: COMMON[name] for name in ("", "Relu", "silu", "LeakyRelu")}
MOBILE: Mapping[str, Rule] = {
    "": lambda b, x: x,
    "Relu": lambda b, x: b.Relu(x),
    "silu": silu,
    "HardSwish": lambda b, x: b.HardSwish(x),
    "Clip": lambda b, x: b.Clip(x, np.float32(0), np.float32(6)),
    "PRelu": lambda b, x: b.PRelu(x, float32s(0.25)),
}
FURTHER: Mapping[str, Rule] = {
    "Gelu": lambda b, x: b.Gelu(x),
    "LeakyRelu 0.01": leaky(0.01),
    "LeakyRelu 0.2": leaky(0.2),
    "Elu": lambda b, x: b.Elu(x),
    "HardSigmoid": lambda b, x: b.HardSigmoid(x, alpha=float(np.float32(1 / 6))),
    "Abs": lambda b, x: b.Abs(x),
}
ALL: Mapping[str, Rule] = {
    **COMMON,
    **MOBILE,
    "Gelu": lambda b, x: b.Gelu(x),
    "tanh Gelu": lambda b, x: b.Gelu(x, approximate="tanh"),
    "LeakyRelu 0.01": leaky(0.01),
    "LeakyRelu 0.2": leaky(0.2),
    "Elu": lambda b, x: b.Elu(x),
    "HardSigmoid": lambda b, x: b.HardSigmoid(x, alpha=float(np.float32(1 / 6))),
    "Softplus": lambda b, x: b.Softplus(x),
    "Exp": lambda b, x: b.Exp(x),
    "Mul": lambda b, x: x * np.float32(0.7),
}
