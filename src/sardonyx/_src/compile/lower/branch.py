"""If, where both branches make results of the same dims and all inside is native."""

from __future__ import annotations

from sardonyx._src.compile.body import source
from sardonyx._src.compile.control.scope import Scope, attempted, insist, there
from sardonyx._src.compile.control.turns import ALWAYS, branch, passing
from sardonyx._src.compile.lower.loop import is_one, wanted
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph


@lowers("If", 25)
def if_(call: Call, at: Lowering) -> bool:
    return attempted(at, lambda: put_down(call, at))


def put_down(call: Call, at: Lowering) -> None:
    given = there(call.input(0))
    insist(is_one(at, given, DataType.BOOL))
    condition, places = at.dense(given), {}
    for i, output in enumerate(call.node.outputs):
        if wanted(call, i) is not None:
            insist(at.shape(output) is not None)
            places[i] = at.allocated(output, "output" if output in at.outputs else "arena")
    graphs = [call.attribute(name, Graph) for name in ("then_branch", "else_branch")]
    first, second = (way(at, graph, places) for graph in graphs)
    flag = at.temporary(DataType.INT64, (1,), "which way")
    nodes = (len(list(graphs[0].nodes)), len(list(graphs[1].nodes)))
    at.emit(branch(flag, at.status, condition, nodes, len(first.actions) + 2))
    at.actions += first.actions
    at.emit(passing(at.constant_tensor(ALWAYS, "always"), len(second.actions) + 1))
    at.actions += second.actions
    for i, place in places.items():
        at.bind(call.node.outputs[i], place)


def way(at: Lowering, graph: Graph, places: dict[int, Tensor]) -> Scope:
    """A branch that leaves its results in these places."""
    insist(len(graph.outputs) > max(places, default=-1) and not graph.inputs)
    scope = Scope(at, graph)
    for i, place in places.items():
        scope.holds(graph.outputs[i], place.dtype, place.shape)
        scope.places.setdefault(source(graph.outputs[i]), place)
    scope.lower()
    for i, place in places.items():
        scope.deliver(graph.outputs[i], place)
    return scope
