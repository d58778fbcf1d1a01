"""Renaming of values and functions in place, with everything that refers to them by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sardonyx._src.ir import Function, Graph, Model, Node, Value
from sardonyx._src.ir.model import FunctionKey
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.tools.imports import remove_unused_imports, scopes


def relabel_values(roots: Iterable[Graph], names: Mapping[Value, str]) -> None:
    """Rename values of graphs and their subgraphs, and their declarations; all other references are to the values themselves."""
    all_graphs = [graph for root in roots for graph in graphs(root)]
    for graph in all_graphs:
        if graph.declarations is not None:
            renamed = {value.name: names[value] for value in values(graph) if value in names}
            graph.declarations = graph.declarations.rename(renamed)
    for value, name in names.items():
        value.name = name
    for graph in all_graphs:
        if any(value.name != name for name, value in graph.initializers.items()):
            rebuild_initializer_index(graph)


def rebuild_initializer_index(graph: Graph) -> None:
    """Rebuild a graph's initializer table under the current names, in the same order."""
    entries = [(name, value, value.initializer) for name, value in graph.initializers.items()]
    for name, value, _ in entries:
        new, value.name = value.name, name
        graph.remove_initializer(value)
        value.name = new
    for _, value, tensor in entries:
        value.initializer = tensor
        graph.add_initializer(value)


def rename_functions(model: Model, keys: Mapping[FunctionKey, FunctionKey]) -> None:
    """Change the keys of functions and retarget their calls; imports follow the domains."""
    functions = list(model.functions.values())
    for function in functions:
        if function.key in keys:
            set_key(function, keys[function.key])
    model.functions = {function.key: function for function in functions}
    for roots, imports in scopes(model):
        for node in (node for root in roots for node in nodes(root)):
            old = (node.domain, node.op_type, node.overload)
            if old in keys:
                retarget_call(node, keys[old])
                imports.setdefault(node.domain, imports.get(old[0], 1))
    remove_unused_imports(model, {domain for domain, *_ in keys})


def set_key(function: Function, key: FunctionKey) -> None:
    if function.body.name == function.name:
        function.body.name = key[1]
    function.domain, function.name, function.overload = key


def retarget_call(node: Node, key: FunctionKey) -> None:
    node.domain, node.op_type, node.overload = key
