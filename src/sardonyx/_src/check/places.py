"""Where in a record the nodes of the model stand that was built from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.check.bodies import key_of
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Graph, Model, Node
from sardonyx._src.proto import messages as m


class Places:
    """The paths of nodes, found when somebody asks for one."""

    def __init__(self, record: m.ModelProto, model: Model) -> None:
        self.record, self.model = record, model
        self.paths: dict[Node, str] = {}

    def of(self, node: Node) -> str:
        """The path to a node's record from the model on: `graph.node[3]`; "" for a node that building has added."""
        if not self.paths:
            self.read_model()
        return self.paths.get(node, "")

    def read_model(self) -> None:
        record, model = self.record, self.model
        if record.graph is not None:
            self.read(record.graph, model.graph, "graph")
        for i, (step, own) in enumerate(zip(record.training_info, model.training, strict=True)):
            if step.initialization is not None and own.initialization is not None:
                self.read(step.initialization, own.initialization, f"training_info[{i}].initialization")
            if step.algorithm is not None and own.algorithm is not None:
                self.read(step.algorithm, own.algorithm, f"training_info[{i}].algorithm")
        for i, function in enumerate(record.functions):
            self.read(function, model.functions[key_of(function)].body, f"functions[{i}]")

    def read(self, body: m.GraphProto | m.FunctionProto, graph: Graph, path: str) -> None:
        """Nodes are told by what they make, since building may have sorted them."""
        makers = {first(record.output): i for i, record in enumerate(body.node)}
        for node in graph.nodes:
            name = first(value.name for value in node.outputs)
            i = makers.get(name)
            if name is None or i is None:
                continue
            record, place = body.node[i], f"{path}.node[{i}]"
            self.paths[node] = place
            for at, inner, own in inside(record, node):
                self.read(inner, own, f"{place}.{at}")


def inside(record: m.NodeProto, node: Node) -> Iterator[tuple[str, m.GraphProto, Graph]]:
    """Path from the node, record and graph of each subgraph; building has left out what an attribute holds besides."""
    for i, one in enumerate(record.attribute):
        attribute = node.attributes.get(one.name)
        graphs = attribute.graphs if attribute is not None else ()
        is_list = attribute is not None and attribute.type == AttributeType.GRAPHS
        given = one.graphs if is_list else [one.g]
        for j, (inner, own) in enumerate(zip(given, graphs, strict=False)):
            if inner is not None:
                yield f"attribute[{i}].graphs[{j}]" if is_list else f"attribute[{i}].g", inner, own


def first(names: Iterable[str]) -> str | None:
    """The first name that is not empty."""
    return next(filter(None, names), None)
