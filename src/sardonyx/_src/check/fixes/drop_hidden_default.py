"""drop-hidden-default: drops the initializer of an input that a Loop or Scan always supplies, since it is never used."""

from __future__ import annotations

from sardonyx._src.check.analysis.reads import control_bodies
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import GraphProto, NodeProto


@fix("SX125")
def drop_hidden_default(violation: Violation) -> str:
    graph, node = violation.visited_record(GraphProto), violation.enclosing(NodeProto)
    supplied = {id(inner): count for _, inner, count in control_bodies(node)} if node is not None else {}
    if supplied.get(id(graph), 0) < len(graph.input):
        return ""
    return drop(graph, {value.name for value in graph.input})


@fix("SX126")
def drop_supplied_default(violation: Violation) -> str:
    graph_path, _, index = violation.path.rpartition(".input[")
    graph = violation.record_at(graph_path)
    assert isinstance(graph, GraphProto), "the path leads through the body"
    return drop(graph, {graph.input[int(index.removesuffix("]"))].name})


def drop(graph: GraphProto, names: set[str]) -> str:
    """Drops the initializers with these names; returns a description."""
    dense = [tensor for tensor in graph.initializer if tensor.name not in names]
    sparse = [
        sparse_tensor
        for sparse_tensor in graph.sparse_initializer
        if not sparse_tensor.values or sparse_tensor.values.name not in names
    ]
    dropped = len(graph.initializer) - len(dense) + len(graph.sparse_initializer) - len(sparse)
    graph.initializer, graph.sparse_initializer = dense, sparse
    if not dropped:
        return ""
    return f"dropped the initializers of {', '.join(map(repr, sorted(names)))}: the operator supplies these"
