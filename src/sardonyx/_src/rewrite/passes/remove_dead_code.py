"""remove-dead-code: remove unused nodes, initializers and functions.

Before:  g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w)  y = Neg(x) }
After:   g (float[2] x) => (float[2] y) { y = Neg(x) }
Keeps:   inputs and outputs; values referenced by training bindings, quantization annotations or shardings; initializers
         that are inputs, except up to IR version 3, where all weights are; random values with uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir import Function, Graph
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.engine.edit import Edit


@sweep(phase="simplify")
def remove_dead_code(edit: Edit) -> Iterator[str]:
    yield from dead_functions(edit)
    for root in roots(edit.model):
        for graph in list(graphs(root)):
            yield from dead_nodes(graph, edit)
    for root in roots(edit.model):
        for graph in graphs(root):
            yield from dead_initializers(graph, edit)


def dead_nodes(graph: Graph, edit: Edit) -> Iterator[str]:
    """Remove dead nodes from last to first, so that one traversal suffices."""
    for node in reversed(graph.nodes):
        if not edit.is_erased(node) and edit.is_dead(node):
            edit.remove(node)
            yield f"{node.op_type} {node.name!r}"


def dead_initializers(graph: Graph, edit: Edit) -> Iterator[str]:
    returned = set(graph.outputs)
    for value in list(graph.initializers.values()):
        is_kept = value in returned or value in edit.public or value in edit.mutable
        if not (value._uses or is_kept):
            edit.remove_initializer(value)
            yield f"initializer {value.name!r}"


def dead_functions(edit: Edit) -> Iterator[str]:
    """Remove functions that no graph calls, directly or through others."""
    model = edit.model
    if not model.functions:
        return
    seen: set[Function] = set()
    pending: list[Graph] = [root for root in roots(model) if root.function is None]
    while pending:
        for node in nodes(pending.pop()):
            callee = model.functions.get((node.domain, node.op_type, node.overload))
            if callee is not None and callee not in seen:
                seen.add(callee)
                pending.append(callee.body)
    for key, function in list(model.functions.items()):
        if function not in seen:
            edit.mark_erased(nodes(function.body))
            del model.functions[key]
            yield f"function {function.label}"
