"""Renaming of values in nodes, subgraphs, types, annotations and shardings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sardonyx._src.check.analysis.reads import subgraphs
from sardonyx._src.check.engine.body import BodyScope, initializer_names, input_names
from sardonyx._src.proto import messages as m

Names = Mapping[str, str]


def rename_values(body: BodyScope, names: Names, outside: Collection[str] = ()) -> None:
    """Renames values that a body defines.

    outside: names that an outer body defines, too.  Nodes before the one that defines such a name here read the outer value.
    """
    record = body.record
    redefined = {name for name in names if name in outside and name in body.producers}
    visible = {old: new for old, new in names.items() if old not in redefined}
    if isinstance(record, m.GraphProto):
        for value in record.input:
            value.name = visible.get(value.name, value.name)
        for tensor in record.initializer:
            tensor.name = visible.get(tensor.name, tensor.name)
        for sparse in record.sparse_initializer:
            if sparse.values is not None:
                sparse.values.name = visible.get(sparse.values.name, sparse.values.name)
    for node in record.node:
        rename_reads(node, visible)
        visible |= {name: names[name] for name in node.output if name in redefined}
        node.output = [names.get(name, name) for name in node.output]
        rename_shardings(node, names, node.output)
    if isinstance(record, m.GraphProto):
        rename_outputs(record, names)
    for value in record.value_info:
        value.name = names.get(value.name, value.name)


def rename_reads(node: m.NodeProto, visible: Names) -> None:
    """Renames the values that a node and its subgraphs read."""
    node.input = [visible.get(name, name) for name in node.input]
    rename_shardings(node, visible, node.input)
    for _, graph in subgraphs(node):
        rename_free_names(graph, visible)


def rename_free_names(graph: m.GraphProto, visible: Names) -> None:
    """Renames the outer values that a subgraph reads: names that it has not defined at that point."""
    defined = {*input_names(graph), *(name for _, name in initializer_names(graph))}
    remaining = {old: new for old, new in visible.items() if old not in defined}
    for node in graph.node:
        if not remaining:
            return
        rename_reads(node, remaining)
        for name in node.output:
            remaining.pop(name, None)
    rename_outputs(graph, remaining)


def rename_outputs(graph: m.GraphProto, names: Names) -> None:
    """Renames outputs of a graph and references in its annotations."""
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    for annotation in graph.quantization_annotation:
        annotation.tensor_name = names.get(annotation.tensor_name, annotation.tensor_name)
        for entry in annotation.quant_parameter_tensor_names:
            entry.value = names.get(entry.value, entry.value)


def rename_shardings(node: m.NodeProto, names: Names, renamed: Collection[str]) -> None:
    if not node.has("device_configurations"):
        return
    for configuration in node.device_configurations:
        for spec in configuration.sharding_spec:
            if names.get(spec.tensor_name) in renamed:
                spec.tensor_name = names[spec.tensor_name]


def has_unique_names(body: BodyScope) -> bool:
    """Whether no name in a body is defined twice."""
    defined = [*body.inputs, *body.initializers.keys() - body.inputs.keys(), *body.producers]
    return not body.redefinitions and len(set(defined)) == len(defined)
