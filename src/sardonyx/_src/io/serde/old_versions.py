"""Fields that old versions of the IR lack: IR version 1 has no types of attributes."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.io.serde.attributes import TYPE_OF
from sardonyx._src.ir import Graph
from sardonyx._src.ir.details import SourceDetails
from sardonyx._src.ir.walk import nodes
from sardonyx._src.proto import messages as m


def mark_attribute_types(graph: Graph) -> None:
    """Marks the attributes of a graph for which a file of IR version 1 states a type nevertheless."""
    for node in nodes(graph):
        for attribute in node.attributes.values():
            details = attribute.details or SourceDetails()
            if not details.omits("type"):
                stated = (*details.stated, ("type", int(attribute.type)))
                attribute.details = replace(details, stated=stated)


def clear_attribute_types(graph: Graph, record: m.GraphProto) -> None:
    """Removes the types of attributes from the record of a graph of IR version 1, except those that its file had."""
    for node, node_record in zip(graph.nodes, record.node, strict=True):
        for attribute, own in zip(node.attributes.values(), node_record.attribute, strict=True):
            stated = () if attribute.details is None else attribute.details.stated
            has_value = any(field.name in TYPE_OF for field, _ in own.present())
            if has_value and not any(name == "type" for name, _ in stated):
                own.clear("type")
            inner_records = own.graphs if own.has("graphs") else [own.g] if own.g is not None else []
            for inner, inner_record in zip(attribute.graphs, inner_records, strict=True):
                clear_attribute_types(inner, inner_record)
