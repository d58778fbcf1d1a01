"""Other names for values, wherever they are meant: by nodes, subgraphs, types, annotations and shardings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sardonyx._src.check.bodies import Body, initializer_names, input_names
from sardonyx._src.check.reading import subgraphs
from sardonyx._src.proto import messages as m

Names = Mapping[str, str]


def rename_values(body: Body, names: Names, outside: Collection[str] = ()) -> None:
    """Gives values that a body makes new names.

    Names in `outside` are visible from around the body, too: before the node that makes the inner value they mean
    the outer one.
    """
    record = body.record
    late = {name for name in names if name in outside and name in body.writers}
    seen = {old: new for old, new in names.items() if old not in late}
    if isinstance(record, m.GraphProto):
        for value in record.input:
            value.name = seen.get(value.name, value.name)
        for tensor in record.initializer:
            tensor.name = seen.get(tensor.name, tensor.name)
        for sparse in record.sparse_initializer:
            if sparse.values is not None:
                sparse.values.name = seen.get(sparse.values.name, sparse.values.name)
    for node in record.node:
        read(node, seen)
        seen |= {name: names[name] for name in node.output if name in late}
        node.output = [names.get(name, name) for name in node.output]
        rename_shardings(node, names, node.output)
    if isinstance(record, m.GraphProto):
        rename_border(record, names)
    for value in record.value_info:
        value.name = names.get(value.name, value.name)


def read(node: m.NodeProto, seen: Names) -> None:
    """Renames what a node and its subgraphs read."""
    node.input = [seen.get(name, name) for name in node.input]
    rename_shardings(node, seen, node.input)
    for _, graph in subgraphs(node):
        read_outside(graph, seen)


def read_outside(graph: m.GraphProto, seen: Names) -> None:
    """Renames what a subgraph reads from outside: all that it has not made itself by then."""
    own = {*input_names(graph), *(name for _, name in initializer_names(graph))}
    left = {old: new for old, new in seen.items() if old not in own}
    for node in graph.node:
        if not left:
            return
        read(node, left)
        for name in node.output:
            left.pop(name, None)
    rename_border(graph, left)


def rename_border(graph: m.GraphProto, names: Names) -> None:
    """Renames what a graph hands out, and what its annotations are about."""
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    for one in graph.quantization_annotation:
        one.tensor_name = names.get(one.tensor_name, one.tensor_name)
        for entry in one.quant_parameter_tensor_names:
            entry.value = names.get(entry.value, entry.value)


def rename_shardings(node: m.NodeProto, names: Names, renamed: Collection[str]) -> None:
    if not node.has("device_configurations"):
        return
    for configuration in node.device_configurations:
        for spec in configuration.sharding_spec:
            if names.get(spec.tensor_name) in renamed:
                spec.tensor_name = names[spec.tensor_name]


def is_plain(body: Body) -> bool:
    """Whether every name in a body, and of what its nodes make, stands for one value."""
    made = [*body.inputs, *body.initializers.keys() - body.inputs.keys(), *body.writers]
    return not body.rewritten and len(set(made)) == len(made)
