"""Trees of scopes: the children of a scope in order, and the columns that hold a tree in the data of a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from sardonyx._src.view.page_data import NONE, GraphData, ScopeKind
from sardonyx._src.view.strings import StringTable

MAX_BOXES = 60  # boxes of one level of a picture: nodes and scopes


@dataclass(eq=False)
class GraphScope:
    """Nodes and inner scopes, in topological order.

    children: numbers of nodes, and scopes.
    count: for a repetition, the number of equal blocks, which are its children; else 1.
    """

    kind: ScopeKind
    label: str
    children: list[Child] = field(default_factory=list)
    count: int = 1

    @cached_property
    def size(self) -> int:
        """The number of nodes in the scope and the scopes inside it; cached, so that the scope must not change afterwards."""
        return sum(1 for _ in nodes_of(self))


Child = int | GraphScope


def nodes_of(scope: GraphScope) -> Iterator[int]:
    """The nodes in a scope and the scopes inside it, in order."""
    stack: list[Iterator[Child]] = [iter(scope.children)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif isinstance(child, GraphScope):
            stack.append(iter(child.children))
        else:
            yield child


def write_scopes(root: GraphScope, graph: GraphData, strings: StringTable) -> None:
    """Writes a tree to the columns of its graph; scope 0 is the root."""
    columns, scope_of = graph["scopes"], graph["nodes"]["scope"]
    for column in (columns["parent"], columns["kind"], columns["label"], columns["count"], columns["nodes"]):
        del column[:]
    stack: list[tuple[GraphScope, int]] = [(root, NONE)]
    while stack:
        scope, parent = stack.pop()
        number = len(columns["parent"])
        columns["parent"].append(parent)
        columns["kind"].append(scope.kind)
        columns["label"].append(strings.add(scope.label))
        columns["count"].append(scope.count)
        columns["nodes"].append(scope.size)
        for child in scope.children:
            if isinstance(child, int):
                scope_of[child] = number
        stack += [(child, number) for child in reversed(scope.children) if isinstance(child, GraphScope)]
