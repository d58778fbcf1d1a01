"""Names of values, nodes and functions changed in place, with all that refers to them by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sardonyx._src.ir.graph import Function, FunctionKey, Graph, Model, Node, Value
from sardonyx._src.ir.walk import graphs, nodes
from sardonyx._src.rewrite.tools.imports import drop_unused, scopes


def relabel_values(roots: Iterable[Graph], names: Mapping[Value, str]) -> None:
    """Gives values of the graphs, and of those inside them, other names; edges, bindings and annotations follow."""
    for value, name in names.items():
        value.name = name
    for graph in (g for root in roots for g in graphs(root)):
        if any(value.name != name for name, value in graph.initializers.items()):
            index_anew(graph)


def index_anew(graph: Graph) -> None:
    """Lists a graph's initializers under the names that their values have now, in the same order."""
    found = [(name, value, value.initializer) for name, value in graph.initializers.items()]
    for name, value, _ in found:
        new, value.name = value.name, name
        graph.remove_initializer(value)
        value.name = new
    for _, value, tensor in found:
        value.initializer = tensor
        graph.add_initializer(value)


def rename_functions(model: Model, keys: Mapping[FunctionKey, FunctionKey]) -> None:
    """Gives functions other keys, and makes every call follow; imports of new domains come, those of old ones go."""
    functions = list(model.functions.values())
    for function in functions:
        if function.key in keys:
            move(function, keys[function.key])
    model.functions = {function.key: function for function in functions}
    for roots, imports in scopes(model):
        for node in (node for root in roots for node in nodes(root)):
            old = (node.domain, node.op_type, node.overload)
            if old in keys:
                call(node, keys[old])
                imports.setdefault(node.domain, imports.get(old[0], 1))
    drop_unused(model, {domain for domain, *_ in keys})


def move(function: Function, key: FunctionKey) -> None:
    if function.body.name == function.name:
        function.body.name = key[1]
    function.domain, function.name, function.overload = key


def call(node: Node, key: FunctionKey) -> None:
    node.domain, node.op_type, node.overload = key
