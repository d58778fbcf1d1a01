"""merge-common-nodes: of nodes that compute the same from the same values, the first stays.

Before:  g (float[2] x) => (float[2] y) { a = Exp(x)  b = Exp(x)  y = Add(a, b) }
After:   g (float[2] x) => (float[2] y) { a = Exp(x)  y = Add(a, a) }
Keeps:   random draws, each of which is another; nodes with subgraphs; names of outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.sameness import kind_of


@sweep(phase="simplify")
def merge_common_nodes(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, {}, edit)


def merge(graph: Graph, outer: Mapping[Hashable, Node], edit: Edit) -> Iterator[str]:
    """Merges the nodes of a graph with earlier ones, those of the graphs around it included."""
    seen = dict(outer)
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from merge(inner, seen, edit)
        key = key_of(node, edit)
        if key is None:
            continue
        first = seen.setdefault(key, node)
        if edit.is_gone(first):
            first = seen[key] = node
        if first is not node and can_stand_for(first, node, edit):
            for kept, value in zip(first.outputs, node.outputs, strict=True):
                if value.name:
                    edit.forward(value, kept)
            edit.prune(node)
            yield f"{node.op_type} {node.name!r}"


def can_stand_for(first: Node, node: Node, edit: Edit) -> bool:
    """Whether every output of a node can be had from an earlier one."""
    for kept, value in zip(first.outputs, node.outputs, strict=True):
        if value.name and not kept.name:
            return False
        if value.name and not edit.is_free(value) and not (edit.is_free(kept) and first.graph is node.graph):
            return False
    return True


def key_of(node: Node, edit: Edit) -> Hashable:
    """Equal for nodes that compute the same; None for one that cannot be compared."""
    kind, found = kind_of(node, edit), edit.meaning(node)
    if kind is None or found is None:
        return None
    inputs: tuple[Value | None, ...] = node.inputs
    if found.op.commutative and len(inputs) == 2:
        inputs = tuple(sorted(inputs, key=id))
    return kind, inputs
