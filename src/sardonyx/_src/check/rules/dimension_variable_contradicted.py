"""SX702 dimension-variable-contradicted: declarations give one dimension variable sizes that no run can reconcile.

Clause: IR.md, "Static tensor shapes"
Catalogue: SHP-02
Why:    a variable stands for one size in all of a model.  A branch or body is held to what the graphs around it say, not to
        its siblings, of which a run may take others.  Up to IR version 3 every declaration has variables of its own.
Bad:    g (float[2] x, float[3] z) => (float[N] y, float[N] w) { y = Abs (x) w = Abs (z) }
Good:   g (float[2] x, float[3] z) => (float[N] y, float[M] w) { y = Abs (x) w = Abs (z) }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from sardonyx._src.check.api import Finding
from sardonyx._src.check.sizes import Equations
from sardonyx._src.check.uses import Declaration, Typed, function_of, typed
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph, Node
from sardonyx._src.ir.types import SparseTensorType, TensorType
from sardonyx._src.proto.record import brief


@dataclass(frozen=True, slots=True)
class Statement:
    """Two sizes that are the same, the place as seen from the node, and what is said if they cannot be."""

    node: Node
    at: str
    declared: Dim
    found: Dim
    says: str


@typed("SX702", about=Typed, since=4)
def dimension_variable_contradicted(whole: Typed) -> Iterator[Finding]:
    """Once for each expression."""
    equations: dict[Graph | None, Equations] = {None: Equations()}
    for _, one in sorted(statements(whole), key=itemgetter(0)):
        graph, path = one.node.graph, whole.path(one.node)
        if graph is None or not path or function_of(one.node) is not None:
            continue  # the variables of a function may mean another size in each call
        sizes = equations_of(graph, whole.model.graph, equations).contradiction(one.declared, one.found)
        if sizes is not None:
            says = (
                one.says
                if sizes == (one.declared, one.found)
                else f"{one.says}; elsewhere they have to be {sizes[0]} and {sizes[1]}"
            )
            at = f"{path}.{one.at}" if one.at else path
            help_ = "declare the sizes that the operators make, or use other variables"
            yield Finding(at, says, help_, once=str(one.declared))


def statements(whole: Typed) -> Iterator[tuple[int, Statement]]:
    """What is said of sizes, and how deep the graph is nested in which it is said."""
    for one in whole.declarations:
        for axis, (declared, found) in enumerate(dims_of(one)):
            if declared != found:
                says = f"axis {axis} of {brief(one.value.name)} is declared {declared}, its operator makes {found}"
                yield depth_of(one.producer.graph), Statement(one.producer, one.at, declared, found, says)
    for node, a, b in whole.agreements:
        says = f"{node.op_type} wants {a} and {b} to be the same"
        yield depth_of(node.graph), Statement(node, "", a, b, says)


def equations_of(graph: Graph, main: Graph, equations: dict[Graph | None, Equations]) -> Equations:
    """Those of a graph, which begin with those of the graph around it; training graphs stand in the main graph."""
    if graph not in equations:
        holder = graph.parent.graph if graph.parent is not None else None
        outer = holder if holder is not None else main if graph is not main else None
        around = equations[None] if outer is None else equations_of(outer, main, equations)
        equations[graph] = around.inner()
    return equations[graph]


def dims_of(one: Declaration) -> Iterator[tuple[Dim, Dim]]:
    """The declared and the found sizes, axis by axis; none where a rank is unknown."""
    shapes = [t.shape for t in (one.declared, one.found) if isinstance(t, TensorType | SparseTensorType)]
    if len(shapes) == 2 and shapes[0] is not None and shapes[1] is not None:
        yield from zip(*shapes, strict=True)


def depth_of(graph: Graph | None) -> int:
    depth = 0
    while graph is not None and graph.parent is not None:
        graph, depth = graph.parent.graph, depth + 1
    return depth
