"""The reverse sweep: gradients of a value with respect to others, computed by new nodes of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sardonyx._src.convert.insertion import NodeInsertionPoint
from sardonyx._src.errors import DifferentiationError
from sardonyx._src.grad.active import active_values
from sardonyx._src.grad.registry import find_gradient
from sardonyx._src.infer.elements import Elements
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import GradientFacet
from sardonyx._src.ops.backward_step import BackwardStep
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.schema import OpSchema

MAX_SHARED_ELEMENTS = 64  # of a constant that is written once
CURE = "choose values after it as sources, or give the operator a gradient facet"


@dataclass(slots=True)
class BackwardNodes:
    """New nodes at the end of a graph, or before one of its nodes."""

    graph: Graph
    names: FreshNames
    place: Node | None = None
    shared: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def append(self, node: Node) -> None:
        """Adds a node and names its outputs."""
        for value in node.outputs:
            value.name = self.names.fresh(value.name)
        if self.place is None:
            self.graph.append(node)
        else:
            self.graph.insert_before(self.place, node)

    def constant(self, tensor: Tensor) -> Value:
        """A tensor as a Constant; equal small ones are shared."""
        if tensor.size > MAX_SHARED_ELEMENTS:
            return self.add_constant(tensor)
        key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        if key not in self.shared:
            self.shared[key] = self.add_constant(tensor)
        return self.shared[key]

    def add_constant(self, tensor: Tensor) -> Value:
        node = Node(
            "Constant", (), [Value("constant")], {"value": Attribute("value", AttributeType.TENSOR, tensor)}
        )
        self.append(node)
        return node.outputs[0]


@dataclass(slots=True)
class ReverseSweep:
    """Visits a path of nodes in reverse order and sums the gradients that reach each value.

    imports: the newest operator sets.  elements: known elements of values of the graph.
    """

    backward: BackwardNodes
    imports: Mapping[str, int]
    elements: Elements
    contributions: dict[Value, list[Value]] = field(default_factory=dict)

    def run(
        self, path: Sequence[Node], sources: Sequence[Value], target: Value, seed: Value
    ) -> list[Value | None]:
        """The gradients of the sources; None for a source that the target does not depend on.

        path: the nodes between them.  seed: the gradient of the target.
        """
        active = active_values(path, sources)
        self.contributions = {target: [seed]}
        for node in reversed(path):
            gradients = [self.total(value) for value in node.outputs]
            if any(gradient is not None for gradient in gradients):
                self.visit(node, gradients, [value in active for value in node.inputs])
        return [self.total(source) for source in sources]

    def visit(self, node: Node, gradients: Sequence[Value | None], needs_gradient: Sequence[bool]) -> None:
        """Adds the gradients of a node's inputs to their contributions."""
        schema = schema_of(node, self.imports)
        facet = facet_of(node, schema)
        inference = NodeInsertionPoint(self.backward.names, self.elements, self.imports).inference(
            node, schema
        )
        step = BackwardStep(node, inference, gradients, needs_gradient, self.backward)
        results = facet(step)
        results = [results] if isinstance(results, Value) else results
        for value, gradient, is_needed in zip(node.inputs, results, needs_gradient, strict=False):
            if value is not None and gradient is not None and is_needed:
                self.contributions.setdefault(value, []).append(gradient)

    def total(self, value: Value) -> Value | None:
        """The gradient of a value: the sum of all contributions; None if there is none."""
        parts = self.contributions.get(value)
        if not parts:
            return None
        while len(parts) > 1:
            node = Node("Add", parts[:2], [Value(f"{value.name}_gradient_sum")])
            self.backward.append(node)
            parts[:2] = node.outputs
        return parts[0]


def facet_of(node: Node, schema: OpSchema) -> GradientFacet:
    """The gradient facet of a node's operator; raises DifferentiationError without one."""
    facet = find_gradient(node.domain, node.op_type, schema.since_version)
    if facet is None:
        raise DifferentiationError(
            f"it has no gradient; {CURE}",
            domain=node.domain,
            op_type=node.op_type,
            version=schema.since_version,
            location=location(node),
        )
    return facet
