"""drop-hidden-default: the initializer of an input that a Loop or Scan always supplies is dropped, as nobody ever sees it."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.reading import control_bodies
from sardonyx._src.proto.messages import GraphProto, NodeProto


@fix("SX125")
def drop_hidden_default(fault: Fault) -> str:
    graph, node = fault.the(GraphProto), fault.around(NodeProto)
    supplied = {id(inner): count for _, inner, count in control_bodies(node)} if node is not None else {}
    if supplied.get(id(graph), 0) < len(graph.input):
        return ""
    return drop(graph, {value.name for value in graph.input})


@fix("SX126")
def drop_supplied_default(fault: Fault) -> str:
    place, _, index = fault.at.rpartition(".input[")
    graph = fault.record_at(place)
    assert isinstance(graph, GraphProto), "the path leads through the body"
    return drop(graph, {graph.input[int(index.removesuffix("]"))].name})


def drop(graph: GraphProto, names: set[str]) -> str:
    """Drops the initializers with these names."""
    dense = [tensor for tensor in graph.initializer if tensor.name not in names]
    sparse = [one for one in graph.sparse_initializer if not one.values or one.values.name not in names]
    dropped = len(graph.initializer) - len(dense) + len(graph.sparse_initializer) - len(sparse)
    graph.initializer, graph.sparse_initializer = dense, sparse
    if not dropped:
        return ""
    return f"dropped the initializers of {', '.join(map(repr, sorted(names)))}: the operator supplies these"
