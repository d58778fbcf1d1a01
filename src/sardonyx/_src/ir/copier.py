"""Copies of graphs and nodes; tensors are shared, since they are never written to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Node, QuantizationAnnotation, Value
from sardonyx._src.ir.large_graphs import append_node
from sardonyx._src.ir.metadata import WithMetadata
from sardonyx._src.ir.references import Bindings, resolve_reference

if TYPE_CHECKING:
    from sardonyx._src.ir.devices import NodeDeviceConfiguration, ShardingSpec


class Copier:
    """Copies graphs and nodes; values that were not copied belong to enclosing graphs and are kept.

    values: the replacement of each value in the copies; initial entries map inputs of a function to those of a call.
    bindings: attributes that replace references to a function's parameters (None: the parameter has no value,
    and the attribute is left out); without bindings, references are kept.
    """

    def __init__(
        self,
        values: Mapping[Value, Value | None] | None = None,
        bindings: Bindings | None = None,
    ) -> None:
        self.values: dict[Value, Value | None] = dict(values or {})
        self.bindings = bindings

    def resolve(self, value: Value) -> Value:
        """The replacement of a value, which must have one."""
        replacement = self.values.get(value, value)
        assert replacement is not None, f"{value!r} is needed, but left out"
        return replacement

    def graph(self, graph: Graph) -> Graph:
        """A deep copy of a graph."""
        result = Graph(graph.name)
        for value in graph.inputs:
            result.add_input(self.value(value))
        for value in graph.initializers.values():
            result.add_initializer(self.resolve(value) if value in self.values else self.value(value))
        for node in graph.nodes:
            if len(node._outputs) == 1:
                self.append_copy(result, node)
            else:
                result.append(self.node(node))
        result.outputs = [self.resolve(v) for v in graph.outputs]
        result.doc = graph.doc
        result.quantization_annotations = [self.annotation(a) for a in graph.quantization_annotations]
        result.details = graph.details
        result.declarations = graph.declarations
        copy_metadata(result, graph)
        return result

    def value(self, value: Value) -> Value:
        """A copy of a value, which replaces the value in all later copies."""
        result = Value(value.name, value.type, value.initializer)
        result.doc = value.doc
        result.details = value.details
        if value._metadata:
            copy_metadata(result, value)
        self.values[value] = result
        return result

    def node(self, node: Node) -> Node:
        """A copy of a node and of its outputs."""
        inputs, attributes = self.inputs(node), self.attributes(node)
        outputs = [self.value(v) for v in node._outputs]
        result = Node(node.op_type, inputs, outputs, attributes, domain=node.domain, name=node.name)
        self.describe(result, node)
        return result

    def append_copy(self, graph: Graph, node: Node) -> None:
        """Appends a copy of a node with one output to a graph."""
        output = node._outputs[0]
        inputs, attributes = self.inputs(node), self.attributes(node)
        result = append_node(graph, node.op_type, node.domain, node.name, inputs, output.name, attributes)
        value = result._outputs[0]
        value.type, value.initializer = output.type, output.initializer
        value.doc, value.details = output.doc, output.details
        if output._metadata:
            copy_metadata(value, output)
        self.values[output] = value
        self.describe(result, node)

    def inputs(self, node: Node) -> list[Value | None]:
        values = self.values
        return [None if v is None else values.get(v, v) for v in node._inputs]

    def attributes(self, node: Node) -> dict[str, Attribute]:
        actual: Iterable[Attribute] = node.attributes.values()
        if self.bindings is not None:
            actual = filter(None, map(self.resolve_reference, actual))
        return {a.name: self.attribute(a) for a in actual}

    def describe(self, result: Node, node: Node) -> None:
        """Gives the copy of a node what is no operand of it."""
        result.overload, result.doc = node.overload, node.doc
        if node.device_configurations:
            result.device_configurations = [self.devices(d) for d in node.device_configurations]
        result.details = node.details
        if node._metadata:
            copy_metadata(result, node)

    def resolve_reference(self, attribute: Attribute) -> Attribute | None:
        """The attribute itself or, for a reference, the attribute it refers to, under the reference's own name."""
        if not attribute.ref or self.bindings is None:
            return attribute
        actual = resolve_reference(attribute, self.bindings)
        if actual is None:
            return None
        return Attribute(attribute.name, actual.type, actual.value, ref=actual.ref, doc=attribute.doc)

    def attribute(self, attribute: Attribute) -> Attribute:
        value = attribute.value
        if isinstance(value, Graph):
            value = self.graph(value)
        elif attribute.type is AttributeType.GRAPHS and isinstance(value, tuple):
            value = tuple(self.graph(g) if isinstance(g, Graph) else g for g in value)
        result = Attribute(attribute.name, attribute.type, value, ref=attribute.ref, doc=attribute.doc)
        result.details = attribute.details
        return result

    def annotation(self, annotation: QuantizationAnnotation) -> QuantizationAnnotation:
        parameters = {key: self.resolve_or_name(value) for key, value in annotation.parameters.items()}
        return QuantizationAnnotation(self.resolve_or_name(annotation.tensor), parameters, annotation.details)

    def devices(self, configuration: NodeDeviceConfiguration) -> NodeDeviceConfiguration:
        specs = [self.sharding(spec) for spec in configuration.sharding_spec]
        return replace(configuration, sharding_spec=specs)

    def sharding(self, spec: ShardingSpec) -> ShardingSpec:
        groups = {key: list(group) for key, group in spec.index_to_device_group.items()}
        dims = [replace(d, simple_sharding=[replace(s) for s in d.simple_sharding]) for d in spec.sharded_dim]
        tensor = self.resolve_or_name(spec.tensor)
        return replace(
            spec, tensor=tensor, device=list(spec.device), index_to_device_group=groups, sharded_dim=dims
        )

    def resolve_or_name(self, value: Value | str) -> Value | str:
        return value if isinstance(value, str) else self.values.get(value) or value


def copy_metadata(copy: WithMetadata, original: WithMetadata) -> None:
    """Gives a copy the metadata of the original."""
    if original.has_metadata:
        copy.metadata.update(original.metadata)
