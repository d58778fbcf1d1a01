"""name-graph: gives a unique name to a graph that has none, or has that of another graph of the model.

Keeps: the name of the first graph with it.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import AttributeProto, GraphProto


@fix("SX100")
def name_graph(violation: Violation) -> str:
    graph = violation.visited_record(GraphProto)
    holder = violation.record_path.parent.record if violation.record_path.parent else None
    graph.name = violation.fix_pass.fresh(
        holder.name if isinstance(holder, AttributeProto) and holder.name else "graph"
    )
    return f"named it {graph.name!r}"


@fix("SX124")
def rename_graph(violation: Violation) -> str:
    graph = violation.record_at(violation.path.removesuffix(".name"))
    assert isinstance(graph, GraphProto), "the path leads to a graph"
    old, graph.name = graph.name, violation.fix_pass.fresh(graph.name)
    return f"renamed it from {old!r} to {graph.name!r}"
