"""Uses of values of loaded graphs, which are recorded at the first query, equal those that are recorded node by node."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from models import parse_record
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.large_graphs import append_call, append_node, append_nodes, defer_uses, dismantle
from sardonyx._src.ir.verify import verify
from sardonyx._src.proto.binary import encode

BRANCHES = "c = If(p) <then_branch = t () => (float u) { u = Add(x, a) }, else_branch = e () => (float v) { v = Relu(b) }>"
TEXTS = {
    "plain": "g (float[N] x) => (float[N] y) { a = Add(x, x) b = Mul(x, a) y = Sub(b, x) }",
    "several outputs": "g (float[4] x) => (float[2] y) { a, b = Split(x) c = Add(b, a) y = Sub(c, b) }",
    "declared": "g (float[N] x) => (float[N] y) <float[N] a> { a = Add(x, x) k = Constant() y = Sub(a, k) }",
    "branches": f"g (float[N] x, bool p) => (float y) {{ a = Relu(x) b = Relu(a) {BRANCHES} y = Add(c, a) }}",
    "unsorted": "g (float[N] x) => (float[N] y) { y = Sub(a, x) a = Add(x, x) }",
}


def uses_by_name(graph: Graph) -> dict[str, list[tuple[str, int]]]:
    """The uses of each value of a graph: the first output of the node that reads it, and the slot."""
    values = [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]
    return {v.name: [(node.outputs[0].name, slot) for node, slot in v.uses] for v in values}


EXPECTED = {
    "plain": {"x": [("a", 0), ("a", 1), ("b", 0), ("y", 1)], "a": [("b", 1)], "b": [("y", 0)], "y": []},
    "several outputs": {
        "x": [("a", 0)],
        "a": [("c", 1)],
        "b": [("c", 0), ("y", 1)],
        "c": [("y", 0)],
        "y": [],
    },
    "declared": {"x": [("a", 0), ("a", 1)], "a": [("y", 0)], "k": [("y", 1)], "y": []},
    "branches": {
        "x": [("a", 0), ("u", 0)],
        "p": [("c", 0)],
        "a": [("b", 0), ("u", 1), ("y", 1)],
        "b": [("v", 0)],
        "c": [("y", 0)],
        "y": [],
    },
    "unsorted": {"x": [("a", 0), ("a", 1), ("y", 1)], "a": [("y", 0)], "y": []},
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("is_encoded", [True, False])
def test_uses_of_a_loaded_graph(name: str, *, is_encoded: bool) -> None:
    record = parse_record(TEXTS[name])
    model = load(encode(record) if is_encoded else record)
    assert uses_by_name(model.graph) == EXPECTED[name]
    assert model.graph._deferred_uses is None
    verify(model)


def test_loading_records_no_uses_of_a_graph_without_subgraphs() -> None:
    model = load(encode(parse_record(TEXTS["several outputs"])))
    deferred = model.graph._deferred_uses
    assert deferred is not None
    assert {value.name for value in deferred} == {"x", "a", "b", "c", "y"}


def test_a_node_that_is_made_before_the_first_query_is_the_last_use() -> None:
    graph = load(encode(parse_record(TEXTS["plain"]))).graph
    last = Node("Relu", [graph.inputs[0]], [Value("z")])
    assert graph.inputs[0].uses[-1] == (last, 0)
    assert len(graph.inputs[0].uses) == 5


def test_an_edit_before_the_first_query() -> None:
    graph = load(encode(parse_record(TEXTS["plain"]))).graph
    last = list(graph.nodes)[-1]
    last.set_input(0, graph.inputs[0])
    assert uses_by_name(graph)["b"] == []
    assert uses_by_name(graph)["x"] == [("a", 0), ("a", 1), ("b", 0), ("y", 1), ("y", 0)]


def test_threads_that_query_uses_together_find_all() -> None:
    for _ in range(20):
        graph = load(encode(parse_record(TEXTS["plain"]))).graph
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(uses_by_name, [graph] * 4))
        assert results == [EXPECTED["plain"]] * 4


@pytest.mark.parametrize("is_deferred", [True, False])
def test_appended_nodes_equal_those_that_are_appended_one_by_one(*, is_deferred: bool) -> None:
    axis = ("axis", AttributeType.INT, 1)
    names = ["a", "", "a", "b", "n1", "", "b", "a", "", "c", "n2"]
    calls = [("Op", "", ()), ("Op", "d", [axis]), ("Op", "", ())]
    graphs = [Graph("g", [Value("x")]) for _ in range(2)]
    if is_deferred:
        defer_uses(graphs[0], graphs[0].inputs)
    append_nodes(graphs[0], {"x": graphs[0].inputs[0]}, [0, 1, 4], names, calls)
    a = append_node(graphs[1], "Op", "", "", (), "a", {}).outputs[0]
    b = append_node(graphs[1], "Op", "d", "n1", [a], "b", {}).outputs[0]
    append_call(graphs[1], Node("Op", (), [Value("c")], name="n2"), [None, b, a, None])
    own, other = ([(repr(n), set(n.attributes), n.domain) for n in graph.nodes] for graph in graphs)
    assert own == [(text, {"axis"} if domain else set(), domain) for text, _, domain in other]
    assert uses_by_name(graphs[0]) == uses_by_name(graphs[1])
    assert len(graphs[0].nodes) == 3


def test_a_node_that_reads_an_unknown_name_is_not_appended() -> None:
    graph, values = Graph(), dict[str, Value]()
    with pytest.raises(KeyError, match="z"):
        append_nodes(graph, values, [0, 1], ["a", "", "z", "b", ""], [("Op", "", ())] * 2)
    assert [node.outputs[0].name for node in graph.nodes] == ["a"]
    assert len(graph.nodes) == 1
    assert list(values) == ["a"]


def test_a_dismantled_graph_without_a_query_is_freed_without_the_cycle_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        before = node_count()
        graph = load(encode(parse_record(TEXTS["plain"]))).graph
        assert node_count() == before + 3
        dismantle(graph)
        del graph
        assert node_count() == before
    finally:
        gc.enable()


def node_count() -> int:
    return sum(isinstance(item, Node) for item in gc.get_objects())


def test_a_value_has_no_other_attributes() -> None:
    assert not hasattr(Value("x"), "shape")
