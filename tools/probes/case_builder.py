"""A builder of cases for probes of kernels: small models, and feeds that compress well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from probes.samples import integers
from sardonyx._src.build.builder import Builder
from sardonyx._src.ir import Array, Model

OPSET = 23
PERIOD = 61  # elements after which contents repeat: a prime number, so that rows and columns differ
ROUNDING = 4e-6  # of functions, beside the reference engine: relative and absolute
QUARTER = 0.25


@dataclass(frozen=True)
class KernelCase:
    """A model whose sizes are constants, and its feeds.

    tolerance: relative and absolute, of results beside the reference engine.
    """

    name: str
    model: Model
    feeds: Mapping[str, Array]
    tolerance: float


def pattern(*shape: int, dtype: str = "float32", low: int = -4, high: int = 4, scale: float = 1) -> Array:
    """Multiples of `scale` by integers from low to high."""
    numbers = np.array(integers(64, 7, low, high + 1)[:PERIOD])
    values = numbers * scale if dtype.startswith("float") else numbers
    return np.resize(values, shape).astype(dtype)


class CaseBuilder(Builder):
    """A builder of one case."""

    def __init__(self) -> None:
        super().__init__(OPSET)
        self.feeds: dict[str, Array] = {}

    def feed(self, *shape: int, **kind: Any) -> Any:
        """An input with the contents of a pattern."""
        return self.fed(pattern(*shape, **kind))

    def fed(self, array: Array) -> Any:
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.input(name, array.dtype, array.shape)

    def case(self, name: str, *results: Any, tolerance: float = ROUNDING) -> KernelCase:
        outputs = {f"y{i}": result for i, result in enumerate(results)}
        return KernelCase(name, self.model(**outputs), self.feeds, tolerance)
