"""Edits of graphs keep uses, producers and node lists consistent."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.large_graphs import append_node, dismantle
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import captures, location, nodes, values

BRANCHES = """
g (bool c, float[2] x) => (float[2] y) {
  a = Abs(x)
  y = If(c) <
    then_branch = t () => (float[2] p) { p = Neg(a) },
    else_branch = e () => (float[2] q) { b = Exp(x)  q = Add(b, a) }
  >
}
"""


def chain(*names: str) -> tuple[Graph, list[Node]]:
    """x -> Abs -> … -> Abs, one node for each name."""
    graph = Graph("g", [Value("x")])
    nodes = []
    last = graph.inputs[0]
    for name in names:
        node = graph.append(Node("Abs", [last], [Value(name)], name=name))
        nodes.append(node)
        last = node.outputs[0]
    graph.outputs.append(last)
    return graph, nodes


def order(graph: Graph) -> str:
    return "".join(node.name for node in graph.nodes)


def test_a_value_knows_its_readers_and_its_producer() -> None:
    x, y = Value("x"), Value("y")
    node = Node("Add", [x, x], [y])
    assert x.uses == ((node, 0), (node, 1))
    assert y.producer is node
    assert y.index == 0


def test_changing_an_input_moves_the_use() -> None:
    x, z = Value("x"), Value("z")
    node = Node("Add", [x, x], [Value("y")])
    node.set_input(1, z)
    assert x.uses == ((node, 0),)
    assert z.uses == ((node, 1),)


def test_an_input_after_the_last_extends_the_list() -> None:
    x, z = Value("x"), Value("z")
    node = Node("Clip", [x], [Value("y")])
    node.set_input(2, z)
    assert node.inputs == (x, None, z)


def test_replacing_a_value_reaches_nodes_subgraphs_and_outputs() -> None:
    graph = parse_model(BRANCHES).graph
    new = graph.add_input(Value("new"))
    only(graph, "Abs").outputs[0].replace_by(new)
    reader = only(graph, "If").attributes["then_branch"].graphs[0]
    assert only(reader, "Neg").inputs == (new,)
    graph.outputs[0].replace_by(new)
    assert graph.outputs == [new]


def test_nodes_are_inserted_before_and_after_others() -> None:
    graph, (a, b) = chain("a", "b")
    graph.insert_before(a, Node("Abs", [], [], name="p"))
    graph.insert_after(a, Node("Abs", [], [], name="q"))
    graph.insert_after(b, Node("Abs", [], [], name="r"))
    assert order(graph) == "paqbr"
    assert "".join(n.name for n in reversed(graph.nodes)) == "rbqap"
    assert len(graph.nodes) == 5


def test_nodes_are_found_by_index_from_either_end() -> None:
    graph, (a, b, c) = chain("a", "b", "c")
    assert (graph.nodes[0], graph.nodes[1], graph.nodes[-1]) == (a, b, c)
    with pytest.raises(IndexError):
        graph.nodes[3]


def test_positions_follow_what_is_inserted_and_removed() -> None:
    graph = parse_model("g (float[2] x) => (float[2] a) { a = Abs(x)  b = Neg(x)  c = Exp(x) }").graph
    first, second, third = graph.nodes
    assert [graph.position(node) for node in (first, second, third)] == [0, 1, 2]
    graph.remove(second)
    assert [graph.position(node) for node in (first, second, third)] == [0, -1, 1]
    graph.insert_before(first, second)
    assert [graph.position(node) for node in (first, second, third)] == [1, 0, 2]


def test_a_walk_survives_the_removal_of_its_node_and_of_the_next() -> None:
    graph, nodes = chain("a", "b", "c", "d")
    graph.outputs.clear()
    for node in nodes:
        node.set_inputs(())
    seen = []
    for node in graph.nodes:
        seen.append(node.name)
        if node.name == "b":
            graph.remove(node)
            graph.remove(nodes[2])
    assert seen == ["a", "b", "d"]
    assert order(graph) == "ad"


def test_a_node_that_is_read_cannot_be_removed() -> None:
    graph, (a, b) = chain("a", "b")
    with pytest.raises(ValueError, match="still read"):
        graph.remove(a)
    with pytest.raises(ValueError, match="still read"):
        graph.remove(b)


def test_removing_a_node_lets_go_of_what_its_subgraphs_read() -> None:
    graph = parse_model(BRANCHES).graph
    branch = only(graph, "If")
    graph.outputs.clear()
    graph.remove(branch)
    assert only(graph, "Abs").outputs[0].uses == ()


def test_captured_values_are_those_of_outer_graphs() -> None:
    graph = parse_model(BRANCHES).graph
    branch = only(graph, "If").attributes["else_branch"].graphs[0]
    assert [v.name for v in captures(branch)] == ["x", "a"]
    assert captures(graph) == []


def test_walking_nodes_enters_subgraphs() -> None:
    assert [n.op_type for n in nodes(parse_model(BRANCHES).graph)] == ["Abs", "If", "Neg", "Exp", "Add"]


def test_values_are_named_each_once() -> None:
    graph = parse_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y, , z = Foo(x, w) }").graph
    assert [v.name for v in values(graph)] == ["x", "w", "y", "z"]


def test_a_location_names_graph_node_and_operator() -> None:
    graph = parse_model(BRANCHES).graph
    inner = only(graph, "If").attributes["else_branch"].graphs[0]
    assert location(only(inner, "Add")) == "node[1] (If).else_branch.node[1] (Add)"


def test_verify_accepts_what_loads() -> None:
    verify(parse_model(BRANCHES))


def test_verify_finds_a_use_before_definition() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { a = Abs(x)  y = Neg(a) }")
    first, second = model.graph.nodes
    first.set_input(0, second.outputs[0])
    with pytest.raises(AssertionError, match="before it is defined"):
        verify(model)


def test_verify_finds_two_values_of_one_name() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { a = Abs(x)  y = Neg(a) }")
    model.graph.nodes[0].outputs[0].name = "x"
    with pytest.raises(AssertionError, match="two values"):
        verify(model)


def test_a_second_initializer_of_a_name_is_refused() -> None:
    graph = Graph("g")
    graph.add_initializer(Value("w", None, Tensor.of([1.0])))
    with pytest.raises(ValueError, match="second initializer"):
        graph.add_initializer(Value("w", None, Tensor.of([2.0])))


def test_a_builder_makes_a_model_that_verifies() -> None:
    b = GraphBuilder(opset=21)
    x = b.input("x", DataType.FLOAT, ["N", 2])
    y = b.Gemm(x, b.constant("w", np.eye(2, dtype=np.float32)), transB=1)
    model = b.model(y=b.Softmax(y, axis=-1))
    verify(model)
    assert str(model.graph.inputs[0].type) == "float[N,2]"
    assert only(model.graph, "Gemm").attributes["transB"].value == 1


def test_a_builder_splits_into_several_outputs() -> None:
    b = GraphBuilder(opset=21)
    first = b.Split(b.input("x", DataType.FLOAT, [4]), outputs=["left", "right"], num_outputs=2)
    assert first.producer is not None
    assert [v.name for v in first.producer.outputs] == ["left", "right"]


def test_a_builder_rejects_an_empty_list_of_unknown_type() -> None:
    b = GraphBuilder(opset=21)
    with pytest.raises(TypeError, match="axes must be a list that is not empty, or an Attribute"):
        b.Squeeze(b.input("x", DataType.FLOAT, [1]), axes=[])
    b.Squeeze(b.graph.inputs[0], axes=Attribute("axes", AttributeType.INTS, ()))


def test_an_appended_new_node_equals_a_constructed_one() -> None:
    def attributes() -> dict[str, Attribute]:
        body = Attribute("body", AttributeType.GRAPH, Graph("inner"))
        return {"axis": Attribute("axis", AttributeType.INT, 1), "body": body}

    graphs = [Graph("g", [Value("x")]) for _ in range(2)]
    for step in "ab":
        x = [graph.inputs[0] for graph in graphs]
        append_node(graphs[0], "Op", "d", step, [x[0], None, x[0]], f"{step}1", attributes())
        inputs = [x[1], None, x[1]]
        graphs[1].append(Node("Op", inputs, [Value(f"{step}1")], attributes(), domain="d", name=step))
    own, other = (
        [(state(node), state(node.outputs[0]), state(graph.inputs[0])) for node in graph.nodes]
        for graph in graphs
    )
    assert own == other
    assert state(graphs[0]) == state(graphs[1])
    for node in graphs[0].nodes:
        assert node.subgraphs[0].parent is node
        assert node.outputs[0].producer is node
        assert node.graph is graphs[0]


def state(item: Node | Value | Graph) -> dict[str, str]:
    """All attributes; raises AttributeError for one that is not set."""
    slots = [name for c in type(item).__mro__ for name in getattr(c, "__slots__", ())]
    return {name: repr(getattr(item, name)) for name in slots}


def test_a_dismantled_graph_is_freed_without_the_cycle_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        before = node_count()
        b = GraphBuilder(opset=21)
        x = b.input("x", DataType.FLOAT, [2])
        b.output(b.Add(b.Relu(x), x), "y", b.tensor(DataType.FLOAT, [2]))
        graph = b.graph
        b.graph.append(Node("Op", [x], [Value("z")], {"g": Attribute("g", AttributeType.GRAPH, inner())}))
        assert node_count() == before + 4
        dismantle(graph)
        del graph, b, x
        assert node_count() == before
    finally:
        gc.enable()


def inner() -> Graph:
    graph = Graph("inner")
    graph.append(Node("Op", [], [Value("v")]))
    return graph


def node_count() -> int:
    return sum(type(item) is Node for item in gc.get_objects())
