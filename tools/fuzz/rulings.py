"""Differences between the engines that docs/rulings.md or the documentation of limits allows, with the reason of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ir import Array, Graph, Model, Node, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.api import RuntimeValue

Outcome = Sequence[RuntimeValue] | Exception
RULINGS = {
    "dead nodes": "the reference engine runs every node, and fails; native programs have only those whose elements results need",
    "limits": "the reference engine holds results to `limits.bytes` one by one, native code those of a run together",
    "rounding of quantized layers": "sums between DequantizeLinear and QuantizeLinear are exact in native code: one step",
    "infinity and NaN in tiles": "with Winograd convolution, all results of a tile that has an infinity or a NaN are NaN",
    "empty scan outputs": "the type of a scan output without elements is declared, or inferred by the native engine alone",
    "overflowing sums": "where terms are infinite, NaN or overflow together, the order and precision of sums decide",
    "indices of empty rows": "native code checks the indices that it copies by: none where what they select is empty",
    "precision of classical models": "features of float32 are computed in float32 by native code, in double by the reference engine",
    "precision of transforms": "transforms of float32 are computed in float64 by native code, in float32 by the reference engine, as NumPy does",
}
OUT_OF_BOUNDS = re.compile(r"indices must be in|write_indices plus")
HUGE = 1e18  # numbers whose squares overflow
LARGE = 1e6  # features beyond which float32 loses what double keeps of an offset
FLOAT32_MODELS = ("SVMClassifier", "SVMRegressor", "LinearClassifier", "LinearRegressor")
SUMS = re.compile(
    "Norm|Reduce|Mean|Pool|Softmax|Attention|MatMul|Gemm|Conv|CumSum|Einsum|Sum|LRN|RNN|LSTM|GRU|Resize|SVMRegressor"
)
TRANSFORMS = {"DFT", "STFT"}
TRANSFORM_ERROR = 1e-6  # of the largest element of a result
SHAPES = ("Shape", "Size")  # operators that read no elements
UNDECLARED = re.compile("scan output .* without elements must declare a tensor type")


def ruling_of(
    model: Model,
    feeds: Mapping[str, object],
    expected: Outcome,
    actual: Outcome,
    run_reference: Callable[[Model], Outcome],
) -> str:
    """The key in RULINGS that allows a difference, or ""."""
    if any(isinstance(x, Exception) and UNDECLARED.search(str(x)) for x in (expected, actual)):
        return "empty scan outputs"
    is_limit = isinstance(expected, LimitError) or isinstance(actual, LimitError)
    if is_limit and not (isinstance(expected, Exception) and isinstance(actual, Exception)):
        return "limits"
    if (
        isinstance(expected, Exception)
        and OUT_OF_BOUNDS.search(str(expected))
        and not isinstance(actual, Exception)
        and has_empty(model, feeds)
    ):
        return "indices of empty rows"
    if isinstance(expected, Exception):
        return "dead nodes" if is_dead_failure(model, expected, actual, run_reference) else ""
    if isinstance(actual, Exception):
        return ""
    operators = {node.op_type for node in nodes(model.graph)}
    if operators & {"Loop", "Scan"} and all(map(is_equal_but_for_empty_shapes, expected, actual)):
        return "empty scan outputs"
    if operators & {"QuantizeLinear", "DynamicQuantizeLinear"} and all(map(is_one_step, expected, actual)):
        return "rounding of quantized layers"
    if operators & {"Conv", "ConvTranspose"} and all(map(is_tile_nan, expected, actual)):
        return "infinity and NaN in tiles"
    if (
        any(map(SUMS.search, operators))
        and has_huge(model, feeds)
        and all(map(is_close_where_finite, expected, actual))
    ):
        return "overflowing sums"
    if any(node.op_type in FLOAT32_MODELS for node in nodes(model.graph)) and has_huge(model, feeds, LARGE):
        return "precision of classical models"
    if operators & TRANSFORMS and all(map(is_close_to_largest, expected, actual)):
        return "overflowing sums" if has_huge(model, feeds) else "precision of transforms"
    return ""


def has_huge(model: Model, feeds: Mapping[str, object], bound: float = HUGE) -> bool:
    """Whether an element of a feed, of an initializer or of an attribute is huge, infinite or NaN."""
    numbers = [x for x in arrays_of(model, feeds) if x.dtype.kind == "f"]
    return any(not bool((np.abs(x) < bound).all()) for x in [*numbers, *float_attributes(model)])


def float_attributes(model: Model) -> list[Array]:
    """The numbers of the attributes that are floats."""
    attributes = [a for node in nodes(model.graph) for a in node.attributes.values()]
    values = [a.value for a in attributes if a.type in (AttributeType.FLOAT, AttributeType.FLOATS)]
    return [np.array(value, np.float64) for value in values if isinstance(value, float | tuple)]


def has_empty(model: Model, feeds: Mapping[str, object]) -> bool:
    """Whether a feed or an initializer has no elements."""
    return any(x.size == 0 for x in arrays_of(model, feeds))


def arrays_of(model: Model, feeds: Mapping[str, object]) -> list[Array]:
    """The feeds and initializers that are arrays."""
    tensors = (value.initializer for value in model.graph.initializers.values())
    values = [*feeds.values(), *(tensor.numpy() for tensor in tensors if tensor is not None)]
    return [x for x in values if isinstance(x, np.ndarray)]


def is_close_where_finite(expected: RuntimeValue, actual: RuntimeValue) -> bool:
    """Whether no element differs that is finite in both results."""
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return False
    if expected.shape != actual.shape or expected.dtype != actual.dtype or expected.dtype.kind != "f":
        return False
    both = np.isfinite(expected) & np.isfinite(actual)
    return bool(np.allclose(actual[both], expected[both], 1e-3, 1e-4))


def is_close_to_largest(expected: RuntimeValue, actual: RuntimeValue) -> bool:
    """Whether elements that are finite in both results differ by an error of the largest of them at most."""
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return False
    if expected.shape != actual.shape or expected.dtype != actual.dtype or expected.dtype.kind != "f":
        return False
    both = np.isfinite(expected) & np.isfinite(actual)
    largest = np.abs(expected[both], dtype=np.float64).max(initial=0)
    return bool(np.allclose(actual[both], expected[both], 0, TRANSFORM_ERROR * largest))


def is_dead_failure(
    model: Model, error: Exception, actual: Outcome, run_reference: Callable[[Model], Outcome]
) -> bool:
    """Whether the reference engine fails at a node of which no run needs elements, or only some runs.

    Where that is not seen from the node, the engine runs without the nodes that no result needs, and must do what the native
    engine does.
    """
    if (failing := failing_node(model.graph, error)) is not None:
        needed = needed_values(model.graph)
        if not any(value in needed for value in failing.outputs):
            return True
    copy = clone(model)
    return bool(remove_dead_nodes(copy.graph)) and type(run_reference(copy)) is type(actual)


def failing_node(graph: Graph, error: Exception) -> Node | None:
    """The node of the main graph that an error names."""
    index = re.match(r"node\[(\d+)\]", getattr(error, "location", ""))
    return list(graph.nodes)[int(index[1])] if index else None


def needed_values(graph: Graph) -> set[Value]:
    """The values of which every run needs elements: not those whose shape alone is read, or that one branch of If reads."""
    needed = set(graph.outputs)
    for node in reversed(list(graph.nodes)):
        if node.op_type not in SHAPES and any(value in needed for value in node.outputs):
            needed.update(value for value in node.inputs if value is not None)
            if node.op_type == "If":
                needed |= set.intersection(*map(needed_values, node.subgraphs))
    return needed


def remove_dead_nodes(graph: Graph) -> int:
    """Removes the nodes that no output of the graph needs, in subgraphs too; returns their number."""
    count = 0
    for node in reversed(list(graph.nodes)):
        if not any(value.uses or value.is_graph_output for value in node.outputs):
            graph.remove(node)
            count += 1
            continue
        for inner in node.subgraphs:
            if node.op_type == "If":
                del inner.outputs[len(node.outputs) :]  # those that the node has no output for
            count += remove_dead_nodes(inner)
    return count


def is_equal_but_for_empty_shapes(expected: RuntimeValue, actual: RuntimeValue) -> bool:
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return type(expected) is type(actual)
    if expected.size or actual.size:
        return bool(np.array_equal(expected, actual, equal_nan=expected.dtype.kind in "fc"))
    return expected.dtype == actual.dtype


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
