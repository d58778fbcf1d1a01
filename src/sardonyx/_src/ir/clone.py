"""Copies of models, graphs and nodes; tensors are shared, since nobody writes into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import (
    Attribute,
    Function,
    Graph,
    Model,
    Node,
    NodeDeviceConfiguration,
    QuantizationAnnotation,
    ShardingSpec,
    TrainingInfo,
    Unknown,
    Value,
    WithMetadata,
)


def clone(model: Model) -> Model:
    """A copy of the model that shares its tensors and nothing else."""
    copier = Copier()
    result = Model(
        copier.graph(model.graph), ir_version=model.ir_version, opset_imports=dict(model.opset_imports)
    )
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc"):
        setattr(result, name, getattr(model, name))
    result.metadata = dict(model.metadata)
    result.functions = {key: clone_function(function) for key, function in model.functions.items()}
    result.training = [copier.training(step) for step in model.training]
    result.configurations = [replace(one, device=list(one.device)) for one in model.configurations]
    result.notes = list(model.notes)
    result.unknown = fields(model.unknown)
    return result


def clone_function(function: Function) -> Function:
    """A copy of a function."""
    copier = Copier()
    result = Function(function.domain, function.name, copier.graph(function.body), overload=function.overload)
    result.doc = function.doc
    result.attributes = {
        name: None if default is None else copier.attribute(default)
        for name, default in function.attributes.items()
    }
    result.opset_imports = dict(function.opset_imports)
    result.metadata = dict(function.metadata)
    result.unknown = fields(function.unknown)
    return result


class Copier:
    """Copies of what it has been shown; values that it has not copied are of graphs around and stay what they are.

    values: what stands for a value in the copies; filled in before, it puts actual values for formal ones.
    bindings: attributes that stand for references to a function's parameters (None: unfilled, the attribute is left
    out); without them references stay references.
    """

    def __init__(
        self,
        values: Mapping[Value, Value | None] | None = None,
        bindings: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        self.values: dict[Value, Value | None] = dict(values or {})
        self.bindings = bindings

    def found(self, value: Value) -> Value:
        """What stands for a value that is not left out."""
        found = self.values.get(value, value)
        assert found is not None, f"{value!r} is left out and needed"
        return found

    def graph(self, graph: Graph) -> Graph:
        """A copy of a graph with all that is in it."""
        result = Graph(graph.name)
        for value in graph.inputs:
            result.add_input(self.value(value))
        for value in graph.initializers.values():
            result.add_initializer(self.found(value) if value in self.values else self.value(value))
        for node in graph.nodes:
            result.append(self.node(node))
        result.outputs = [self.found(v) for v in graph.outputs]
        result.doc = graph.doc
        result.quantization_annotations = [self.annotation(a) for a in graph.quantization_annotations]
        result.unknown = fields(graph.unknown)
        describe(result, graph)
        return result

    def value(self, value: Value) -> Value:
        """A copy of a value, which from now on stands for it."""
        result = Value(value.name, value.type, value.initializer)
        result.doc = value.doc
        result.unknown = fields(value.unknown)
        describe(result, value)
        self.values[value] = result
        return result

    def node(self, node: Node) -> Node:
        """A copy of a node, which makes copies of its outputs."""
        inputs = [None if v is None else self.values.get(v, v) for v in node.inputs]
        kept = map(self.bound, node.attributes.values())
        attributes = {a.name: self.attribute(a) for a in kept if a is not None}
        outputs = [self.value(v) for v in node.outputs]
        result = Node(
            node.op_type,
            inputs,
            outputs,
            attributes,
            domain=node.domain,
            overload=node.overload,
            name=node.name,
        )
        result.doc = node.doc
        result.device_configurations = [self.devices(d) for d in node.device_configurations]
        result.unknown = fields(node.unknown)
        describe(result, node)
        return result

    def bound(self, attribute: Attribute) -> Attribute | None:
        """What stands for an attribute that may be a reference; under the name that the node has for it."""
        if not attribute.ref or self.bindings is None:
            return attribute
        actual = self.bindings.get(attribute.ref)
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
        result.unknown = fields(attribute.unknown)
        return result

    def annotation(self, annotation: QuantizationAnnotation) -> QuantizationAnnotation:
        parameters = {key: self.named(value) for key, value in annotation.parameters.items()}
        return QuantizationAnnotation(self.named(annotation.tensor), parameters)

    def devices(self, configuration: NodeDeviceConfiguration) -> NodeDeviceConfiguration:
        specs = [self.sharding(spec) for spec in configuration.sharding_spec]
        return replace(configuration, sharding_spec=specs)

    def sharding(self, spec: ShardingSpec) -> ShardingSpec:
        groups = {key: list(group) for key, group in spec.index_to_device_group.items()}
        dims = [replace(d, simple_sharding=[replace(s) for s in d.simple_sharding]) for d in spec.sharded_dim]
        return ShardingSpec(self.named(spec.tensor), list(spec.device), groups, dims)

    def named(self, value: Value | str) -> Value | str:
        return value if isinstance(value, str) else self.values.get(value) or value

    def training(self, step: TrainingInfo) -> TrainingInfo:
        """A copy of a training step, after the main graph whose values it reads."""
        initialization, algorithm = (
            None if graph is None else self.graph(graph) for graph in (step.initialization, step.algorithm)
        )
        first = [(self.found(a), self.found(b)) for a, b in step.initialization_binding]
        update = [(self.found(a), self.found(b)) for a, b in step.update_binding]
        return TrainingInfo(initialization, algorithm, first, update, fields(step.unknown))


def fields(unknown: Unknown | None) -> Unknown | None:
    return None if unknown is None else list(unknown)


def describe(copy: WithMetadata, original: WithMetadata) -> None:
    """Gives a copy the metadata of the original."""
    if original.has_metadata:
        copy.metadata.update(original.metadata)
