"""name-graph: a graph without a name, or with that of another graph of the model, gets one of its own.

Keeps: the name of the first graph that has it.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import AttributeProto, GraphProto


@fix("SX100")
def name_graph(fault: Fault) -> str:
    graph = fault.the(GraphProto)
    holder = fault.trail.around.record if fault.trail.around else None
    graph.name = fault.round.fresh(
        holder.name if isinstance(holder, AttributeProto) and holder.name else "graph"
    )
    return f"named it {graph.name!r}"


@fix("SX124")
def rename_graph(fault: Fault) -> str:
    graph = fault.record_at(fault.at.removesuffix(".name"))
    assert isinstance(graph, GraphProto), "the path leads to a graph"
    old, graph.name = graph.name, fault.round.fresh(graph.name)
    return f"renamed it from {old!r} to {graph.name!r}"
