"""SX702 dimension-variable-contradicted: declarations give one dimension variable sizes that no run can reconcile.

Clause: IR.md, "Static tensor shapes"
Catalogue: SHP-02
Why:    a variable is one size throughout a model.  A branch or body must agree with the graphs that enclose it, but not
        with its siblings, which may not run together; a contradiction in a branch is a warning.  Up to IR version 3 each declaration has its own variables.
Bad:    g (float[2] x, float[3] z) => (float[N] y, float[N] w) { y = Abs (x) w = Abs (z) }
Good:   g (float[2] x, float[3] z) => (float[N] y, float[M] w) { y = Abs (x) w = Abs (z) }
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from sardonyx._src.check.engine import Finding, Severity
from sardonyx._src.check.type_rules.equations import Equations
from sardonyx._src.check.type_rules.subjects import OutputDeclaration, TypedModel, function_of, type_rule
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Node, SparseTensorType, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.proto.record import brief


@dataclass(frozen=True, slots=True)
class SizeEquation:
    """Two sizes that must be equal, the path from the node, and the message if they cannot be."""

    node: Node
    path: str
    left: Dim
    right: Dim
    message: str


@type_rule("SX702", about=TypedModel, since=4)
def check_dimension_variable_contradicted(typed_model: TypedModel) -> Iterator[Finding]:
    """Once for each expression."""
    equations: dict[Graph | None, Equations] = {None: Equations()}
    for _, equation in sorted(size_equations(typed_model), key=itemgetter(0)):
        graph, node_path = equation.node.graph, typed_model.path(equation.node)
        if graph is None or not node_path or function_of(equation.node) is not None:
            continue  # the variables of a function may have another size in each call
        known = equations_of(graph, typed_model.model.graph, equations)
        sizes = known.contradiction(equation.left, equation.right)
        if sizes is not None:
            message = (
                equation.message
                if sizes == (equation.left, equation.right)
                else f"{equation.message}; other declarations require {sizes[0]} and {sizes[1]}"
            )
            path = f"{node_path}.{equation.path}" if equation.path else node_path
            help_ = "declare the sizes that the operators produce, or use other variables"
            severity: Severity | None = "warning" if graph in typed_model.uncertain else None
            yield Finding(path, message, help_, severity, dedup_key=str(equation.left))


def size_equations(typed_model: TypedModel) -> Iterator[tuple[int, SizeEquation]]:
    """The equations between sizes in a model, each with the nesting depth of its graph."""
    for declaration in typed_model.declarations:
        for axis, (declared, inferred) in enumerate(dims_of(declaration)):
            if declared != inferred:
                name, producer = declaration.value.name, declaration.producer
                message = (
                    f"axis {axis} of {brief(name)} is declared {declared}; its operator produces {inferred}"
                )
                equation = SizeEquation(producer, declaration.path, declared, inferred, message)
                yield depth_of(producer.graph), equation
    for node, a, b in typed_model.equal_sizes:
        message = f"{node.op_type} requires {a} and {b} to be equal"
        yield depth_of(node.graph), SizeEquation(node, "", a, b, message)


def equations_of(graph: Graph, main: Graph, equations: dict[Graph | None, Equations]) -> Equations:
    """The equations of a graph; they extend the equations of the enclosing graph, or of the main graph for a training graph."""
    if graph not in equations:
        holder = graph.parent.graph if graph.parent is not None else None
        outer = holder if holder is not None else main if graph is not main else None
        enclosing = equations[None] if outer is None else equations_of(outer, main, equations)
        equations[graph] = enclosing.inner()
    return equations[graph]


def dims_of(declaration: OutputDeclaration) -> Iterator[tuple[Dim, Dim]]:
    """The declared and the inferred sizes, axis by axis; none if a rank is unknown."""
    shapes = [
        t.shape
        for t in (declaration.declared, declaration.inferred)
        if isinstance(t, TensorType | SparseTensorType)
    ]
    if len(shapes) == 2 and shapes[0] is not None and shapes[1] is not None:
        yield from zip(*shapes, strict=True)


def depth_of(graph: Graph | None) -> int:
    depth = 0
    while graph is not None and graph.parent is not None:
        graph, depth = graph.parent.graph, depth + 1
    return depth
