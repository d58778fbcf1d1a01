"""Continuations of Ifs whose branches return different shapes move into the branches, where each shape is known.

After such an If, in a branch or in the body of a loop, inference knows no rank or size, so no kernel can be chosen.  The nodes
from the If to the last one that reads such a value are copied into both branches (tail duplication), whose results then
have equal shapes.  Ifs of the main graph stay: runs show which branch they take (`compile.program.steps.assumptions`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from sardonyx._src.compile.program.steps.assumptions import ELSE_BRANCH, THEN_BRANCH
from sardonyx._src.ir import Graph, Model, Node, TensorType, Type, Value
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.inline import rename_definitions
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import captures, graphs, nodes

MAX_CONTINUATION = 128  # nodes that are copied into both branches of one If
MAX_COPIES = 1024  # nodes that one model may gain


def duplicate_continuations(model: Model, infer: Callable[[Model], object]) -> bool:
    """Moves continuations into branches until no If has one; returns whether the model has changed.

    infer: types all values of the model.
    """
    remaining = MAX_COPIES
    names: FreshNames | None = None
    while any(branches_of(node) for graph in subgraphs(model) for node in graph.nodes):
        infer(model)
        candidates = [pair for graph in subgraphs(model) if (pair := find_continuation(graph))]
        remaining -= sum(count_nodes(continuation) for _, continuation in candidates)
        if not candidates or remaining < 0:
            break
        names = names or FreshNames.of_graphs([model.graph])
        for node, continuation in candidates:
            move_into_branches(node, continuation, names)
    return names is not None


def subgraphs(model: Model) -> list[Graph]:
    """The graphs inside the main graph, inner ones first."""
    return [graph for graph in graphs(model.graph) if graph is not model.graph][::-1]


def branches_of(node: Node) -> tuple[Graph, ...]:
    """The then_branch and the else_branch of an If, which its attributes tell from other nodes; () for these."""
    attributes = [node.attributes[name] for name in (THEN_BRANCH, ELSE_BRANCH) if name in node.attributes]
    branches = tuple(attribute.value for attribute in attributes if isinstance(attribute.value, Graph))
    return branches if len(branches) == 2 else ()


def find_continuation(graph: Graph) -> tuple[Node, list[Node]] | None:
    """The first If of a graph whose branches return different shapes, and its continuation; None if there is none."""
    for node in graph.nodes:
        open_values = {
            value
            for value, *results in zip(
                node.outputs, *(branch.outputs for branch in branches_of(node)), strict=False
            )
            if results and not have_equal_shapes(results)
        }
        if open_values:
            following = list(nodes_after(node))
            continuation = following[: continuation_length(following, open_values)]
            if 0 < count_nodes(continuation) <= MAX_CONTINUATION:
                return node, continuation
    return None


def count_nodes(continuation: Sequence[Node]) -> int:
    """The number of nodes, those of subgraphs included."""
    return sum(1 + sum(1 for graph in node.subgraphs for _ in nodes(graph)) for node in continuation)


def nodes_after(node: Node) -> Iterator[Node]:
    """The nodes of the same graph that follow a node."""
    assert node.graph is not None, f"{node!r} must be in a graph"
    following = iter(node.graph.nodes)
    for other in following:
        if other is node:
            yield from following


def have_equal_shapes(values: Sequence[Value]) -> bool:
    shapes = {value.type.shape if isinstance(value.type, TensorType) else None for value in values}
    return len(shapes) == 1 and all(shape is not None and None not in shape for shape in shapes)


def continuation_length(following: Sequence[Node], open_values: set[Value]) -> int:
    """The number of nodes up to the last one that reads a value without a shape; such results are added to `open_values`."""
    length = 0
    for i, node in enumerate(following, 1):
        operands = operands_of(node)
        if open_values.isdisjoint(operands):
            continue
        length = i
        known = {name for value in operands if value not in open_values for name in symbols_of(value.type)}
        open_values.update(value for value in node.outputs if not has_shape_of(value.type, known))
    return length


def operands_of(node: Node) -> set[Value]:
    """The values that a node and its subgraphs read."""
    inner = (value for graph in node.subgraphs for value in captures(graph))
    return {*(value for value in node.inputs if value is not None), *inner}


def has_shape_of(type_: Type | None, names: Collection[str]) -> bool:
    """Whether a type has dims of these symbols only."""
    is_known = isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape
    return is_known and set(symbols_of(type_)) <= set(names)


def symbols_of(type_: Type | None) -> Iterator[str]:
    """The symbols in the dims of a type."""
    dims = type_.shape or () if isinstance(type_, TensorType) else ()
    for dim in dims:
        yield from dim.symbols() if isinstance(dim, Expr) else ()


def move_into_branches(node: Node, continuation: Sequence[Node], names: FreshNames) -> None:
    """Copies nodes into both branches of an If, which returns those of their results that other nodes read."""
    graph = node.graph
    assert graph is not None, f"{node!r} must be in a graph"
    read = set(graph.outputs).union(*map(operands_of, nodes_after(continuation[-1])))
    results = [value for moved in continuation for value in moved.outputs if value in read]
    for branch in branches_of(node):
        copier = Copier(dict(zip(node.outputs, branch.outputs, strict=False)))
        for original in continuation:
            rename_definitions(branch.append(copier.node(original)), Node(""), names)
        branch.outputs = [*branch.outputs, *map(copier.resolve, results)]
    for value in results:
        node.add_output(Value(names.fresh(value.name)))
        node.take_output(len(node.outputs) - 1, value)
    for moved in reversed(continuation):
        graph.remove(moved)
