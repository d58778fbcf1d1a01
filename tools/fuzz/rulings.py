"""Differences between the engines that docs/rulings.md or the documentation of limits allows, with the reason of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.api import RuntimeValue

Outcome = Sequence[RuntimeValue] | Exception
RULINGS = {
    "dead nodes": "the reference engine runs every node, and fails; native programs have only those that results need",
    "limits": "the reference engine holds results to `limits.bytes` one by one, native code those of a run together",
    "rounding of quantized layers": "sums between DequantizeLinear and QuantizeLinear are exact in native code: one step",
    "infinity and NaN in tiles": "with Winograd convolution, all results of a tile that has an infinity or a NaN are NaN",
}


def ruling_of(
    model: Model, expected: Outcome, actual: Outcome, run_reference: Callable[[Model], Outcome]
) -> str:
    """The key in RULINGS that allows a difference, or ""."""
    is_limit = isinstance(expected, LimitError) or isinstance(actual, LimitError)
    if is_limit and not (isinstance(expected, Exception) and isinstance(actual, Exception)):
        return "limits"
    if isinstance(expected, Exception):
        return "dead nodes" if is_dead_failure(model, actual, run_reference) else ""
    if isinstance(actual, Exception):
        return ""
    operators = {node.op_type for node in nodes(model.graph)}
    if operators & {"QuantizeLinear", "DynamicQuantizeLinear"} and all(map(is_one_step, expected, actual)):
        return "rounding of quantized layers"
    if operators & {"Conv", "ConvTranspose"} and all(map(is_tile_nan, expected, actual)):
        return "infinity and NaN in tiles"
    return ""


def is_dead_failure(model: Model, actual: Outcome, run_reference: Callable[[Model], Outcome]) -> bool:
    """Whether the reference engine, without the nodes that no result needs, does what the native engine does."""
    copy = clone(model)
    removed = remove_dead_nodes(copy.graph)
    if not removed:
        return False
    outcome = run_reference(copy)
    return type(outcome) is type(actual)


def remove_dead_nodes(graph: Graph) -> int:
    """Removes the nodes of the main graph that no output of it needs; returns their number."""
    count = 0
    for node in reversed(list(graph.nodes)):
        if not any(value.uses or value.is_graph_output for value in node.outputs):
            graph.remove(node)
            count += 1
    return count


def is_one_step(expected: RuntimeValue, actual: RuntimeValue) -> bool:
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return False
    if expected.shape != actual.shape or expected.dtype != actual.dtype or expected.dtype.kind not in "iu":
        return False
    return bool((np.abs(expected.astype(np.int64) - actual.astype(np.int64)) <= 1).all())


def is_tile_nan(expected: RuntimeValue, actual: RuntimeValue) -> bool:
    """Whether all that differs is NaN in the result of native code."""
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return False
    if expected.shape != actual.shape or expected.dtype.kind != "f":
        return False
    finite = np.isfinite(actual)
    return bool(
        np.isnan(actual).any()
        and not np.isfinite(expected).all()
        and np.allclose(
            expected[finite], actual[finite], 1e-3, 1e-4 * float(np.abs(actual[finite]).max(initial=1.0))
        )
    )
