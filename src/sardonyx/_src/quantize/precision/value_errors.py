"""Errors of inner values and outputs: two models run on the same feeds on the reference engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationData, feeds_in_types
from sardonyx._src.quantize.precision.ranges import is_floating
from sardonyx._src.quantize.report.quality import ErrorSums

MOST_BYTES = 1 << 30  # of the values of one run that are held for the comparison
MOST_RUNS = 4  # with calibration data: the errors of many are much alike


@dataclass(frozen=True, slots=True)
class ValueErrors:
    """What differs between the runs of two models.

    values: the signal-to-noise ratio of each value of floats that both models name, outputs included, in decibels.
    unequal: for each output of other types, the share of elements that differ.
    """

    values: Mapping[str, float]
    unequal: Mapping[str, float]


def value_errors(original: Model, changed: Model, data: CalibrationData) -> ValueErrors:
    """The errors of the values of the main graph."""
    sums: dict[str, ErrorSums] = {}
    unequal: dict[str, float] = {}
    first, second = (Interpreter(model, seed=0) for model in (original, changed))
    for feeds in data.runs[:MOST_RUNS]:
        held = Holder(original)
        expected = first.run(feeds, held.observe)
        comparison = ValueComparer(changed, held.arrays, sums)
        actual = second.run(feeds_in_types(changed, feeds), comparison.observe)
        for name, value in expected.items():
            add_output(name, value, actual[name], sums, unequal)
    return ValueErrors({name: item.error(name).signal_to_noise for name, item in sums.items()}, unequal)


class Holder:
    """Holds the values of floats of a main graph, as long as memory permits."""

    def __init__(self, model: Model) -> None:
        self.graph = model.graph
        self.arrays: dict[str, Array] = {}
        self.bytes = 0

    def observe(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        for value, result in zip(node.outputs, results, strict=False):
            if node.graph is self.graph and isinstance(result, np.ndarray) and is_floating(result):
                self.bytes += result.nbytes
                if self.bytes <= MOST_BYTES:
                    self.arrays[value.name] = result


class ValueComparer:
    """Compares the values of a run with those that are held."""

    def __init__(self, model: Model, arrays: Mapping[str, Array], sums: dict[str, ErrorSums]) -> None:
        self.graph, self.arrays, self.sums = model.graph, arrays, sums
        self.outputs = {value.name for value in model.graph.outputs}

    def observe(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        for value, result in zip(node.outputs, results, strict=False):
            expected = self.arrays.get(value.name) if node.graph is self.graph else None
            if expected is not None and value.name not in self.outputs:
                add_error(value, expected, result, self.sums)


def add_error(value: Value, expected: Array, actual: object, sums: dict[str, ErrorSums]) -> None:
    if isinstance(actual, np.ndarray) and actual.shape == expected.shape:
        sums.setdefault(value.name, ErrorSums()).add(expected, actual)


def add_output(
    name: str, expected: object, actual: object, sums: dict[str, ErrorSums], unequal: dict[str, float]
) -> None:
    """Adds the error of an output; one of another kind or shape differs in all elements."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for exact, rounded in zip(expected, actual, strict=True):
            add_output(name, exact, rounded, sums, unequal)
    elif not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        unequal[name] = max(unequal.get(name, 0.0), float(expected != actual))
    elif expected.shape != actual.shape:
        unequal[name] = 1.0
    elif is_floating(expected):
        sums.setdefault(name, ErrorSums()).add(expected, actual)
    elif expected.size:
        unequal[name] = max(unequal.get(name, 0.0), float(np.mean(expected != actual)))
