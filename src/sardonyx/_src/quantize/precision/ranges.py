"""The largest magnitude of each value in runs with the calibration data, subgraphs included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.run_values import RunResult
from sardonyx._src.quantize.calibration import CalibrationData


def largest_magnitudes(model: Model, data: CalibrationData) -> dict[Value, float]:
    """The largest finite magnitude of each value of floats; its least one is no matter, since zeros are common."""
    largest: dict[Value, float] = {}

    def observe(values: Sequence[Value], results: Sequence[RunResult | RuntimeValue]) -> None:
        for value, result in zip(values, results, strict=False):
            largest[value] = max(largest.get(value, 0.0), magnitude(result))

    def observe_node(node: Node, results: Sequence[RuntimeValue]) -> None:
        observe(node.outputs, results)

    def observe_inputs(graph: Graph, arguments: Sequence[RuntimeValue]) -> None:
        observe(graph.inputs, arguments)

    interpreter = Interpreter(model, seed=0)
    for feeds in data.runs:
        interpreter.run(feeds, observe_node, observe_inputs)
    return largest


def magnitude(value: object) -> float:
    """The largest finite magnitude of the floats in an array or a list of arrays; 0 without any."""
    if isinstance(value, list):
        return max(map(magnitude, value), default=0.0)
    if not isinstance(value, np.ndarray) or not value.size or not is_floating(value):
        return 0.0
    sizes = np.abs(value if value.dtype.kind == "f" else value.astype(np.float32))
    largest = float(sizes.max())
    return largest if np.isfinite(largest) else float(sizes[np.isfinite(sizes)].max(initial=0.0))


def is_floating(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bool:
    return array.dtype.kind == "f" or "float" in array.dtype.name
