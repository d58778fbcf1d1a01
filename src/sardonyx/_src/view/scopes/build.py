"""The scopes of a graph: first from metadata or names of nodes, then repetitions of equal blocks, then parts of long runs."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.view.page_data import GraphData, ScopeKind
from sardonyx._src.view.scopes.metadata import path_from_metadata
from sardonyx._src.view.scopes.names import paths_from_names
from sardonyx._src.view.scopes.order import (
    constant_nodes,
    live_values,
    move_constants,
    producers_of,
    topological_order,
)
from sardonyx._src.view.scopes.parts import divide
from sardonyx._src.view.scopes.repetition import FOLD_FROM, Marks, fold_repetitions
from sardonyx._src.view.scopes.tree import Child, GraphScope, nodes_of, write_scopes
from sardonyx._src.view.strings import StringTable

MAX_PATH = 32  # scopes inside each other that a path may have
Path = tuple[str, ...]


def add_scopes(graph: GraphData, strings: StringTable) -> None:
    """Writes the scopes of a graph."""
    producers = producers_of(graph)
    order = topological_order(producers)
    order = move_constants(order, producers, constant_nodes(graph, producers, order))
    position = [0] * len(order)
    for i, node in enumerate(order):
        position[node] = i
    kind, paths = paths_of(graph, strings)
    root = tree_of(order, paths, kind)
    root.label = graph["name"]
    names = [strings.strings[i] for i in graph["nodes"]["operator"]]
    marks = Marks(operator_marks(graph), producers, names)
    arrange(root, marks, live_values(order, producers), position)
    write_scopes(root, graph, strings)


def paths_of(graph: GraphData, strings: StringTable) -> tuple[ScopeKind, list[Path]]:
    """The scopes of each node: from metadata where at least half of the nodes have them, else from names."""
    count = len(graph["nodes"]["operator"])
    stated: list[Path | None] = [None] * count
    for node, notes in graph["nodes"]["notes"].items():
        if "metadata" in notes:
            stated[node] = path_from_metadata({pair[0]: pair[1] for pair in notes["metadata"]})
    if 2 * sum(path is not None for path in stated) >= count > 0:
        return "namespace", [(path or ())[:MAX_PATH] for path in stated]
    paths = paths_from_names([strings.strings[i] for i in graph["nodes"]["name"]])
    return "name", [path[:MAX_PATH] for path in paths]


def tree_of(order: Sequence[int], paths: Sequence[Path], kind: ScopeKind) -> GraphScope:
    """The tree of paths, ordered by the first node of each scope; scopes with a single child are left out."""
    root = GraphScope("graph", "")
    scopes: dict[Path, GraphScope] = {(): root}
    for node in order:
        path = paths[node]
        if path not in scopes:
            add_path(scopes, path, kind)
        scopes[path].children.append(node)
    simplify(root, scopes)
    return root


def add_path(scopes: dict[Path, GraphScope], path: Path, kind: ScopeKind) -> None:
    depth = len(path)
    while path[:depth] not in scopes:
        depth -= 1
    for end in range(depth + 1, len(path) + 1):
        scope = scopes[path[:end]] = GraphScope(kind, path[end - 1])
        scopes[path[: end - 1]].children.append(scope)


def simplify(root: GraphScope, scopes: dict[Path, GraphScope]) -> None:
    """Replaces each scope with a single child by the child, inner scopes first; a child that is a scope gets both labels."""
    for scope in reversed(scopes.values()):
        children: list[Child] = []
        for child in scope.children:
            if isinstance(child, GraphScope) and len(child.children) == 1:
                (only,) = child.children
                if isinstance(only, GraphScope):
                    only.label = f"{child.label}/{only.label}"
                children.append(only)
            else:
                children.append(child)
        scope.children = children
    while len(root.children) == 1 and isinstance(root.children[0], GraphScope):
        root.children = root.children[0].children


def operator_marks(graph: GraphData) -> list[int]:
    """A number for each node, equal for equal operators and attributes; elements of tensors do not count."""
    nodes = graph["nodes"]
    table: dict[object, int] = {}
    result = []
    start = 0
    for node, end in enumerate(nodes["inputEnds"]):
        attributes = nodes["attributes"].get(node, ())
        texts = tuple((a["name"], a["text"]) for a in attributes if a["type"] != "tensor")
        key = (nodes["operator"][node], nodes["domain"][node], nodes["overload"][node], end - start, texts)
        result.append(table.setdefault(key, len(table)))
        start = end
    return result


def arrange(root: GraphScope, marks: Marks, live: Sequence[int], position: Sequence[int]) -> None:
    """Folds repetitions and divides long runs of children, in every scope, inner scopes first."""
    for scope in scopes_inside_out(root):
        children = scope.children
        crossing = live_at(children, live, position)
        if len(children) > FOLD_FROM or any(isinstance(child, GraphScope) for child in children):
            folded = fold_repetitions(children, marks, crossing)
            if folded != children:
                children, crossing = folded, live_at(folded, live, position)
        scope.children = divide(children, crossing, marks.names)
        divide_blocks(scope.children, live, position, marks.names)


def divide_blocks(
    children: Sequence[Child], live: Sequence[int], position: Sequence[int], operators: Sequence[str]
) -> None:
    """Divides the blocks of repetitions, which may have more children than one level of a picture has room for."""
    stack = [
        child for child in children if isinstance(child, GraphScope) and child.kind in ("repetition", "part")
    ]
    while stack:
        scope = stack.pop()
        if scope.kind == "part":
            scope.children = divide(scope.children, live_at(scope.children, live, position), operators)
        stack += [c for c in scope.children if isinstance(c, GraphScope) and c.kind in ("repetition", "part")]


def scopes_inside_out(root: GraphScope) -> list[GraphScope]:
    """Every scope, after those inside it."""
    result, stack = [], [root]
    while stack:
        scope = stack.pop()
        result.append(scope)
        stack += [child for child in scope.children if isinstance(child, GraphScope)]
    return result[::-1]


def live_at(children: Sequence[Child], live: Sequence[int], position: Sequence[int]) -> list[int]:
    """The number of values that cross the boundary before each child, and after the last one."""
    firsts = [child if isinstance(child, int) else next(nodes_of(child)) for child in children]
    return [*(live[position[node]] for node in firsts), 0]
