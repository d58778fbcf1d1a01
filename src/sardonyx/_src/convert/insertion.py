"""Insertion of converted nodes, and replacement of the old one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import field
from dataclasses import replace as replace_fields

import numpy as np

from sardonyx._src.convert.signature_check import adapt_attributes, check_inputs
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.context import NodeInferenceContext
from sardonyx._src.infer.elements import Elements
from sardonyx._src.infer.folding import infer_elements
from sardonyx._src.infer.memo_cache import OutputTypes
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, TensorType, Type, Value
from sardonyx._src.ir.devices import NodeDeviceConfiguration
from sardonyx._src.ir.inline import transfer_outputs
from sardonyx._src.ir.model import FunctionKey
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.bind import attributes_of
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.ops.version_adapter import FIRST_CONSTANTS, AdaptedNode, Adapter, SameOp
from sardonyx._src.schema import OpSchema

MAX_SHARED_ELEMENTS = 64  # largest constant that is deduplicated


@dataclass(slots=True)
class NodeInsertionPoint:
    """The `InsertionPoint` directly before the node that is converted.

    names: unused names for new values.
    elements: the known elements of values.
    imports: the operator-set versions that new nodes use.
    functions: the functions of the model, which shadow operators of the same name.
    shared: the small constants that were inserted before, by type and elements.
    """

    names: FreshNames
    elements: Elements
    imports: Mapping[str, int]
    functions: Collection[FunctionKey] = ()
    shared: dict[Hashable, Value] = field(default_factory=dict)

    def add(self, node: Node, adapter: Adapter) -> None:
        """Insert a node before the old one, with new names and types of its outputs; refuse it if the opset forbids it."""
        graph = adapter.node.graph
        assert graph is not None, f"{adapter.node!r} is in no graph"
        schema = self.schema(node, adapter)
        check_inputs(adapter, node.inputs, schema)
        for value in node.outputs:
            value.name = self.names.fresh(value.name)
        self.record_node(node)
        graph.insert_before(adapter.node, node)

    def constant(self, tensor: Tensor, adapter: Adapter) -> Value:
        """A tensor as a Constant; an equal small one is reused."""
        key = None
        if tensor.size <= MAX_SHARED_ELEMENTS and tensor.dtype is not DataType.STRING:
            key = (adapter.node.graph, tensor.dtype, tensor.shape, tensor.numpy().tobytes())
            shared = self.shared.get(key)
            if shared is not None and shared.owner is adapter.node.graph:
                return shared
        if self.imports.get("", 9) < 9 and tensor.dtype not in FIRST_CONSTANTS:
            value = self.initializer(tensor, adapter)
        else:
            value = adapter.op("Constant", value=tensor)
        if key is not None:
            self.shared[key] = value
        return value

    def initializer(self, tensor: Tensor, adapter: Adapter) -> Value:
        """A tensor as an initializer of the graph; in a function, which has none, a Constant cast to its type."""
        graph = adapter.node.graph
        assert graph is not None, f"{adapter.node!r} is in no graph"
        if outermost_graph(graph).function is None:
            name = self.names.fresh(tensor.name or f"{adapter.node.outputs[0].name}_constant")
            value = graph.add_initializer(Value(name, TensorType(tensor.dtype, tensor.shape), tensor))
            self.elements.put(value, tensor)
            return value
        array = tensor.numpy()
        if tensor.dtype is DataType.STRING or (array.astype(np.float64) != array).any():
            adapter.refuse(f"a constant of {tensor.dtype.text} cannot be expressed there inside a function")
        return adapter.Cast(adapter.constant(array.astype(np.float64)), to=tensor.dtype)

    def fresh(self, name: str) -> str:
        """An unused name based on this one."""
        return self.names.fresh(name)

    def record_node(self, node: Node) -> None:
        """Infer the output types of a new node, and record known elements."""
        schema = signature(node.domain, node.op_type, self.imports.get(node.domain, 0))
        types = () if schema is None else self.types(node, schema)
        for value, type in zip(node.outputs, types, strict=False):
            value.type = value.type if type is None else type
        tensor = constant_of(node)
        if tensor is not None:
            self.elements.put(node.outputs[0], tensor)
        elif schema is not None and types:
            self.fold(node, schema, types)

    def fold(self, node: Node, schema: OpSchema, types: Sequence[Type | None]) -> None:
        """Record the elements of the outputs that follow from known elements of the inputs."""
        op = find(node.domain, node.op_type)
        assert op is not None, f"{node.op_type} has an inference rule"
        plan = InferencePlan(op, schema, op.infers[schema.since_version])
        if not plan.infers_elements:
            return
        inference = self.inference(node, schema)
        context = NodeInferenceContext(
            inference.op_type,
            inference.version,
            inference.inputs,
            inference.given,
            inference.attributes,
            inference.outputs,
            values=node.inputs,
            elements=self.elements,
        )
        elements = infer_elements(plan, context, OutputTypes(types), node)
        for value, known in zip(node.outputs, elements, strict=False):
            self.elements.put(value, known)

    def schema(self, node: Node, adapter: Adapter) -> OpSchema:
        schema = signature(node.domain, node.op_type, self.imports.get(node.domain, 0))
        if schema is None or schema.deprecated:
            adapter.refuse(f"{node.op_type}, which the conversion needs, does not exist there")
        refuse_shadowed(adapter, node.domain, node.op_type, self.functions)
        return schema

    def types(self, node: Node, schema: OpSchema) -> Sequence[Type | None]:
        """The output types, if they can be inferred."""
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        if infer is None or any(a.ref for a in node.attributes.values()) or node.subgraphs:
            return ()
        try:
            inferred = infer(self.inference(node, schema))
        except InferenceError:
            return ()  # an inconsistent model is not reported by a conversion
        return inferred if isinstance(inferred, Sequence) else (inferred,)

    def inference(self, node: Node, schema: OpSchema) -> Inference:
        """The inference context of a node; an attribute that calls of the enclosing function decide is None."""
        undecided = {a.ref: Attribute(a.name, a.type, None) for a in node.attributes.values() if a.ref}
        return Inference(
            op_type=node.op_type,
            version=schema.since_version,
            inputs=[None if v is None else v.type for v in node.inputs],
            given=[v is not None for v in node.inputs],
            attributes=attributes_of(node, schema, undecided),
            outputs=len(node.outputs),
            known=[self.elements.get(v) for v in node.inputs],
        )


def refuse_shadowed(adapter: Adapter, domain: str, op_type: str, functions: Collection[FunctionKey]) -> None:
    """Refuse an operator that a function of the model shadows: nodes with its name would be calls of the function."""
    if (domain, op_type, "") in functions:
        adapter.refuse(
            f"{op_type}, which the conversion needs, is shadowed by a function of the model; rename the function"
        )


def outermost_graph(graph: Graph) -> Graph:
    """The outermost enclosing graph."""
    while graph.parent is not None and graph.parent.graph is not None:
        graph = graph.parent.graph
    return graph


def constant_of(node: Node) -> Tensor | None:
    """The numeric tensor of a Constant node."""
    if node.op_type != "Constant" or node.domain or len(node.attributes) != 1:
        return None
    (attribute,) = node.attributes.values()
    if isinstance(attribute.value, Tensor):
        return attribute.value
    numbers = {
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_float": np.float32,
        "value_floats": np.float32,
    }
    dtype = numbers.get(attribute.name)
    return None if dtype is None or attribute.ref else Tensor.of(np.asarray(attribute.value, dtype))


def place_result(
    adapter: Adapter,
    result: AdaptedNode,
    old: OpSchema,
    names: FreshNames,
    functions: Collection[FunctionKey],
) -> list[Node]:
    """Replace the old node by a facet's result; returns the new nodes, including the old one if it was changed in place."""
    if isinstance(result, SameOp):
        if result.op_type != adapter.node.op_type:
            refuse_shadowed(adapter, adapter.node.domain, result.op_type, functions)
        change_in_place(adapter, result, old)
        return [*adapter.added, adapter.node]
    results = [result] if isinstance(result, Value) else list(result)
    if needs_copies(adapter.node, results):
        refuse_shadowed(adapter, "", "Identity", functions)
    # Nodes in subgraphs of the old node are converted on their own; only nodes in new subgraphs are returned.
    old_nodes = {
        n for detached in adapter.detached.values() for graph in detached.graphs for n in nodes(graph)
    }
    inner = [
        n for added in adapter.added for graph in added.subgraphs for n in nodes(graph) if n not in old_nodes
    ]
    new_nodes = replace_node_outputs(adapter.node, results, names)
    new = main_node(adapter, new_nodes)
    new.name = adapter.node.name
    copy_description(new, adapter.node, [*adapter.added, *new_nodes])
    return adapter.added + inner + new_nodes


def change_in_place(adapter: Adapter, same_op: SameOp, old: OpSchema) -> None:
    """Change the node itself: its operator's name, inputs and attributes."""
    node = adapter.node
    new = signature(node.domain, same_op.op_type, adapter.imports[node.domain])
    if new is None or (new.deprecated and not old.deprecated):
        adapter.refuse(f"{same_op.op_type} does not exist there")
    attributes = adapt_attributes(adapter, same_op, old, new)
    node.op_type = same_op.op_type
    node.set_inputs(same_op.inputs)
    node.attributes = attributes
    for attribute in attributes.values():
        node.set_attribute(attribute)
    if same_op.outputs < len(node.outputs):
        node.drop_outputs(same_op.outputs)
    place_on_devices([node], node, node.device_configurations)


def needs_copies(node: Node, results: Sequence[Value | None]) -> bool:
    """Whether results of a node need an Identity when they are transferred."""
    used = [r for output, r in zip(node.outputs, results, strict=False) if output.name and r is not None]
    return len(set(used)) < len(used) or any(r.producer is None or r in node.inputs for r in used)


def main_node(adapter: Adapter, new_nodes: Sequence[Node]) -> Node:
    """The new node that keeps the old one's name: the last of the same operator, or else the last."""
    alike = [
        n for n in adapter.added if n.op_type == adapter.node.op_type and n.domain == adapter.node.domain
    ]
    return (alike or adapter.added or new_nodes or [adapter.node])[-1]


def copy_description(new: Node, old: Node, new_nodes: Sequence[Node]) -> None:
    """Copy doc and metadata of the old node to the new one, and device configurations to all new nodes."""
    if new is old:
        return
    new.doc = old.doc
    new.details = old.details
    if old.has_metadata:
        new.metadata.update(old.metadata)
    place_on_devices(new_nodes, new, old.device_configurations)


def place_on_devices(
    new_nodes: Sequence[Node], main_node: Node, configurations: Sequence[NodeDeviceConfiguration]
) -> None:
    """Give each node the sharding of its own tensors; the main node keeps all configurations."""
    for node in new_nodes if configurations else ():
        tensors = {*node.inputs, *node.outputs}
        trimmed = [
            replace_fields(d, sharding_spec=[s for s in d.sharding_spec if s.tensor in tensors])
            for d in configurations
        ]
        node.device_configurations = [d for d in trimmed if d.sharding_spec or node is main_node]


def replace_node_outputs(node: Node, results: Sequence[Value | None], names: FreshNames) -> list[Node]:
    """Make the producers of the results produce the node's outputs, and remove the node; returns added Identity nodes."""
    graph = node.graph
    assert graph is not None, f"{node!r} is in no graph"
    new_nodes = transfer_outputs(node, list(results), graph)
    graph.remove(node)
    return new_nodes


def undo(adapter: Adapter) -> None:
    """Remove what a facet inserted before it refused."""
    for node in reversed(adapter.added):
        assert node.graph is not None, f"{node!r} is in no graph"
        node.graph.remove(node)
    adapter.added.clear()
    for attribute in adapter.detached.values():
        adapter.node.set_attribute(attribute)
