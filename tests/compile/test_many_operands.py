"""Nodes of thousands of inputs, and graphs of thousands: the work grows with their number, and no faster."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.prepare.bound_node import is_typed
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.schema import OpSchema

SUMS = ("Sum", "Max", "Min", "Mean")
X = np.arange(2, dtype=np.float32)


def variadic(op_type: str, count: int, distinct: bool) -> Model:
    """A node with `count` inputs of the graph, or `count` times the same one."""
    b = GraphBuilder(23)
    names = [f"x{i}" for i in range(count if distinct else 1)]
    inputs = [b.input(name, DataType.FLOAT, [2]) for name in names] * (1 if distinct else count)
    node = b.node(op_type, inputs, ["y"], **({"axis": 0} if op_type == "Concat" else {}))  # type: ignore[arg-type]
    return b.model(y=node.outputs[0])


@pytest.mark.parametrize("distinct", [False, True], ids=["repeated", "distinct"])
@pytest.mark.parametrize("op_type", [*SUMS, "Concat"])
def test_thousands_of_inputs_are_left_to_one_reference_kernel(op_type: str, distinct: bool) -> None:
    count = 2000
    model = variadic(op_type, count, distinct)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 1
    y = session.run({value.name: X for value in model.graph.inputs})["y"]
    expected = {"Sum": count * X, "Concat": np.tile(X, count)}.get(op_type, X)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("op_type", SUMS)
def test_chains_of_nodes_with_many_inputs_are_native(op_type: str) -> None:
    b = GraphBuilder(23)
    value = x = b.input("x", DataType.FLOAT, [2])
    for i in range(40):
        value = b.node(op_type, [value, *[x] * 15], [f"v{i}"]).outputs[0]
    session = sx.Session(b.model(y=value), engine="native")
    assert session.stats.fallback_nodes == 0
    session.run({"x": X})


def test_concats_of_hundreds_of_inputs_are_native() -> None:
    program = compile_model(variadic("Concat", 300, True), host_target()).program
    assert len(program.steps) == 300


@pytest.mark.parametrize("tool", [sx.infer, sx.optimize, lambda model: sx.convert(model, 24), sx.Session])
def test_the_inputs_of_a_graph_are_listed_a_fixed_number_of_times(
    tool: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(tool)
    listed: list[int] = []

    def inputs(graph: Graph) -> tuple[Value, ...]:
        listed[-1] += 1
        return tuple(graph._inputs)

    monkeypatch.setattr(Graph, "inputs", property(inputs))
    for count in (20, 40, 80):
        listed.append(0)
        tool(variadic("Sum", count, True))
    assert listed[1] == listed[2]


def test_has_input_follows_edits() -> None:
    a, b, c = Value("a"), Value("b"), Value("c")
    graph = Graph("g", [a, b])
    graph.add_input(c, 0)
    assert list(graph.inputs) == [c, a, b]
    graph.remove_input(a)
    assert list(graph.inputs) == [c, b]
    assert [graph.has_input(value) for value in (a, b, c)] == [False, True, True]


def test_a_node_is_bound_once_for_the_producers_of_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product looks at its consumer, to which the types of all products belong."""
    b = GraphBuilder(23)
    x = b.input("x", DataType.FLOAT, [2, 2])
    weights = [b.constant(f"w{i}", np.full((2, 2), i, np.float32)) for i in range(50)]
    products = [b.node("MatMul", [x, w], [f"p{i}"]).outputs[0] for i, w in enumerate(weights)]
    model = b.model(y=b.node("Concat", products, ["y"], axis=0).outputs[0])
    bound: Counter[str] = Counter()

    def record(node: Node, schema: OpSchema) -> bool:
        bound[node.op_type] += 1
        return is_typed(node, schema)

    monkeypatch.setattr("sardonyx._src.compile.prepare.graph_info.is_typed", record)
    compile_model(model, host_target())
    assert 0 < bound["Concat"] < 5
