"""Paths from a model's record to the records of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.check.engine.body import key_of
from sardonyx._src.ir import Graph, Model, Node
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.proto import messages as m


class NodePaths:
    """The paths of nodes, computed at the first query."""

    def __init__(self, record: m.ModelProto, model: Model) -> None:
        self.record, self.model = record, model
        self.paths: dict[Node, str] = {}

    def of(self, node: Node) -> str:
        """The path to a node's record: `graph.node[3]`; "" for a node that loading has added."""
        if not self.paths:
            self.add_model()
        return self.paths.get(node, "")

    def add_model(self) -> None:
        record, model = self.record, self.model
        if record.graph is not None:
            self.add_body(record.graph, model.graph, "graph")
        for i, (step, own) in enumerate(zip(record.training_info, model.training, strict=True)):
            if step.initialization is not None and own.initialization is not None:
                self.add_body(step.initialization, own.initialization, f"training_info[{i}].initialization")
            if step.algorithm is not None and own.algorithm is not None:
                self.add_body(step.algorithm, own.algorithm, f"training_info[{i}].algorithm")
        for i, function in enumerate(record.functions):
            self.add_body(function, model.functions[key_of(function)].body, f"functions[{i}]")

    def add_body(self, body: m.GraphProto | m.FunctionProto, graph: Graph, path: str) -> None:
        """Matches nodes by their outputs, since loading may have sorted them."""
        producers = {first(record.output): i for i, record in enumerate(body.node)}
        for node in graph.nodes:
            name = first(value.name for value in node.outputs)
            i = producers.get(name)
            if name is None or i is None:
                continue
            record, node_path = body.node[i], f"{path}.node[{i}]"
            self.paths[node] = node_path
            for subpath, inner, own in subgraphs_of(record, node):
                self.add_body(inner, own, f"{node_path}.{subpath}")


def subgraphs_of(record: m.NodeProto, node: Node) -> Iterator[tuple[str, m.GraphProto, Graph]]:
    """The path from the node, the record and the graph of each subgraph.

    Only graphs that loading keeps are listed: it drops other values of an attribute that holds a graph.
    """
    for i, proto in enumerate(record.attribute):
        attribute = node.attributes.get(proto.name)
        graphs = attribute.graphs if attribute is not None else ()
        is_list = attribute is not None and attribute.type == AttributeType.GRAPHS
        graph_records = proto.graphs if is_list else [proto.g]
        for j, (inner, own) in enumerate(zip(graph_records, graphs, strict=False)):
            if inner is not None:
                yield f"attribute[{i}].graphs[{j}]" if is_list else f"attribute[{i}].g", inner, own


def first(names: Iterable[str]) -> str | None:
    """The first name that is not empty."""
    return next(filter(None, names), None)
