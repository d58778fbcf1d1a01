"""merge-common-nodes: eliminate common subexpressions.

Before:  g (float[2] x) => (float[2] y) { a = Exp(x)  b = Exp(x)  y = Add(a, b) }
After:   g (float[2] x) => (float[2] y) { a = Exp(x)  y = Add(a, a) }
Keeps:   random operators; nodes with subgraphs; names of outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.equivalence import computation_key


@sweep(phase="simplify")
def merge_common_nodes(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, {}, edit)


def merge(graph: Graph, outer: Mapping[Hashable, Node], edit: Edit) -> Iterator[str]:
    """Merge the nodes of a graph with earlier ones, enclosing graphs included."""
    seen = dict(outer)
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from merge(inner, seen, edit)
        key = key_of(node, edit) if has_shared_inputs(node) else None
        if key is None:
            continue
        first = seen.setdefault(key, node)
        if edit.is_erased(first):
            first = seen[key] = node
        if first is not node and can_replace(first, node, edit):
            for replacement, value in zip(first.outputs, node.outputs, strict=True):
                if value.name:
                    edit.replace_uses(value, replacement)
            edit.prune(node)
            yield f"{node.op_type} {node.name!r}"


def has_shared_inputs(node: Node) -> bool:
    """Whether other nodes read all inputs of a node, as a node that computes the same does."""
    return all(value is None or len(value._uses) > 1 for value in node.inputs)


def can_replace(first: Node, node: Node, edit: Edit) -> bool:
    """Whether every used output of a node can be replaced by that of an earlier one."""
    for replacement, value in zip(first.outputs, node.outputs, strict=True):
        if value.name and not replacement.name:
            return False
        if (
            value.name
            and not edit.is_internal(value)
            and not (edit.is_internal(replacement) and first.graph is node.graph)
        ):
            return False
    return True


def key_of(node: Node, edit: Edit) -> Hashable:
    """A key that is equal for nodes that compute the same; None for nodes that cannot be compared."""
    kind, operator = computation_key(node, edit), edit.operator_of(node)
    if kind is None or operator is None:
        return None
    inputs: tuple[Value | None, ...] = node.inputs
    if operator.op.commutative and len(inputs) == 2:
        inputs = tuple(sorted(inputs, key=id))
    return kind, inputs
