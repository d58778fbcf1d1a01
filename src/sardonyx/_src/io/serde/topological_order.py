"""Topological order of node records, for files that list a node before the producers of its inputs."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.errors import InvalidModel
from sardonyx._src.proto import messages as m


def topological_order(nodes: list[m.NodeProto], where: str) -> list[int]:
    """Indices of the nodes, sorted so that every node follows the producers of what it and its subgraphs read.

    Otherwise the order of the file is kept.  Raises InvalidModel, which names a cycle, if no such order exists.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    dependencies = [{producer[n] for n in reads(node) if n in producer} for node in nodes]
    order: list[int] = []
    state = [0] * len(nodes)  # 0: unvisited, 1: on the path, 2: done
    for start in range(len(nodes)):
        if state[start] == 0:
            visit(start, dependencies, state, order, nodes, where)
    return order


def visit(
    start: int,
    dependencies: list[set[int]],
    state: list[int],
    order: list[int],
    nodes: list[m.NodeProto],
    where: str,
) -> None:
    """Appends `start` to `order` after all its dependencies; iterative depth-first search."""
    path = [(start, iter(sorted(dependencies[start])))]
    state[start] = 1
    while path:
        index, rest = path[-1]
        following = next(rest, None)
        if following is None:
            state[index] = 2
            order.append(index)
            path.pop()
        elif state[following] == 1:
            cycle = [i for i, _ in path][[i for i, _ in path].index(following) :]
            names = " -> ".join(
                f"node[{i}] {nodes[i].name or nodes[i].op_type!r}" for i in [*cycle, following][:8]
            )
            raise InvalidModel(f"a graph must be acyclic; got the cycle {names}", location=where)
        elif state[following] == 0:
            state[following] = 1
            path.append((following, iter(sorted(dependencies[following]))))


def reads(node: m.NodeProto) -> Iterator[str]:
    """The names that a node and its subgraphs use from its graph or from enclosing graphs."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.g is not None:
            yield from free_names(attribute.g)
        if attribute.has("graphs"):
            for graph in attribute.graphs:
                yield from free_names(graph)


def free_names(graph: m.GraphProto) -> set[str]:
    """The names that a subgraph uses but does not define."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer if t.values is not None}
    own |= {name for node in graph.node for name in node.output}
    used = {name for node in graph.node for name in reads(node)} | {v.name for v in graph.output}
    return used - own
