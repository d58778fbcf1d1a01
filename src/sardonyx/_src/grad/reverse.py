"""The reverse sweep: gradients of a value with respect to others, computed by new nodes of its graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np

from sardonyx._src.convert.insertion import NodeInsertionPoint
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DifferentiationError
from sardonyx._src.grad.active import active_nodes, active_values
from sardonyx._src.grad.registry import find_gradient
from sardonyx._src.grad.univariate import UnivariateFunction, find_functions
from sardonyx._src.infer.elements import Elements
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.copier import Copier
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs, location, values
from sardonyx._src.ops.api import GradientFacet
from sardonyx._src.ops.backward_step import (
    BackwardStep,
    Gradients,
    ValueGradients,
    add_gradients,
    multiply_gradient,
)
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.schema import OpSchema

MAX_SHARED_ELEMENTS = 64  # elements of a constant that is written once for all its uses
CURE = "choose values after it as sources, or give the operator a gradient facet"


@dataclass(slots=True)
class BackwardNodes:
    """Adds backward nodes at the end of a graph, or before one of its nodes.

    names: the names in use.
    imports: the newest operator sets.
    elements: known elements of values of the model.
    before: the node before which new nodes are inserted; None for the end of the graph.
    shared: the small constants so far, by content.
    """

    graph: Graph
    names: FreshNames
    imports: Mapping[str, int]
    elements: Elements
    before: Node | None = None
    shared: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def append(self, node: Node) -> None:
        """Adds a node and names its outputs."""
        for value in node.outputs:
            value.name = self.names.fresh(value.name)
        if self.before is None:
            self.graph.append(node)
        else:
            self.graph.insert_before(self.before, node)

    def fresh(self, name: str) -> str:
        """An unused name based on this one."""
        return self.names.fresh(name)

    def constant(self, tensor: Tensor) -> Value:
        """A tensor as a Constant; equal small ones are shared."""
        if tensor.size > MAX_SHARED_ELEMENTS:
            return self.add_constant(tensor)
        key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        if key not in self.shared:
            self.shared[key] = self.add_constant(tensor)
        return self.shared[key]

    def add_constant(self, tensor: Tensor) -> Value:
        value = Attribute("value", AttributeType.TENSOR, tensor)
        node = Node("Constant", (), [Value("constant")], {"value": value})
        self.append(node)
        return node.outputs[0]

    def copy_body(self, body: Graph) -> Graph:
        """A copy of a subgraph for a new node, with new names for all its values and nodes."""
        copier = Copier()
        result = copier.graph(body)
        for graph in graphs(result):
            for value in values(graph):
                if value.initializer is None:
                    value.name = self.names.fresh(value.name)
        for original, copy in copier.values.items():
            if copy is not None:
                self.elements.put(copy, self.elements.get(original))
        return result

    def inline_body(self, body: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Adds copies of the nodes of a subgraph, with arguments for its inputs; returns its outputs."""
        copier = Copier(dict(zip(body.inputs, arguments, strict=True)))
        for value in body.initializers.values():
            assert isinstance(value.initializer, Tensor), f"{value!r} has no dense tensor"
            copier.values[value] = self.constant(value.initializer)
        for original in body.nodes:
            node = copier.node(original)
            for graph in (inner for subgraph in node.subgraphs for inner in graphs(subgraph)):
                for value in values(graph):
                    if value.initializer is None:
                        value.name = self.names.fresh(value.name)
            self.append(node)
        return [copier.resolve(value) for value in body.outputs]

    def inside(self, body: Graph) -> BackwardNodes:
        """`BackwardNodes` that adds nodes at the end of a subgraph."""
        return BackwardNodes(body, self.names, self.imports, self.elements)

    def differentiate(self, sources: Sequence[Value], seeds: Mapping[Value, Value]) -> list[Value | None]:
        """The gradients of the sources, computed by new nodes of the graph from the gradients `seeds` of its values."""
        path = active_nodes(self.graph.nodes, sources, seeds.keys())
        return ReverseSweep(self).run(path, sources, seeds)

    def gradient_terms(self, sources: Sequence[Value], seeds: Mapping[Value, Value]) -> list[Sequence[Value]]:
        """As `differentiate`, but returns the terms of each gradient instead of their sum."""
        path = active_nodes(self.graph.nodes, sources, seeds.keys())
        sweep = ReverseSweep(self)
        sweep.visit_path(path, sources, seeds)
        return [sweep.contributions.get(source, []) for source in sources]


@dataclass(slots=True)
class ReverseSweep:
    """Visits a path of nodes in reverse order and sums the gradients that reach each value.

    finds_functions: whether elementwise functions of several nodes are differentiated as one (`univariate`).
    contributions: the gradients that have reached each value, as terms of a sum.
    """

    backward: BackwardNodes
    finds_functions: bool = True
    contributions: dict[Value, list[Value]] = field(default_factory=dict)

    def run(
        self, path: Sequence[Node], sources: Sequence[Value], seeds: Mapping[Value, Value]
    ) -> list[Value | None]:
        """The gradients of the sources; None for a source on which no target depends.

        path: the nodes between sources and targets.  seeds: the gradients of the targets.
        """
        self.visit_path(path, sources, seeds)
        return [self.total(source) for source in sources]

    def visit_path(
        self, path: Sequence[Node], sources: Sequence[Value], seeds: Mapping[Value, Value]
    ) -> None:
        """Collects the contributions to the gradients of the sources."""
        active = active_values(path, sources)
        self.contributions = {target: [seed] for target, seed in seeds.items()}
        functions = find_functions(path, active, {*sources, *seeds}) if self.finds_functions else {}
        covered = {node for function in functions.values() for node in function.nodes}
        for node in reversed(path):
            if node in functions:
                self.visit_function(functions[node])
            if node in covered:
                continue
            gradients = [self.total(value) for value in node.outputs]
            if any(gradient is not None for gradient in gradients):
                self.visit(node, gradients, active)

    def visit(self, node: Node, gradients: Sequence[Value | None], active: Collection[Value]) -> None:
        """Adds the gradients of the values that a node reads to their contributions."""
        backward = self.backward
        schema = schema_of(node, backward.imports)
        facet = facet_of(node, schema)
        inference = NodeInsertionPoint(backward.names, backward.elements, backward.imports).inference(
            node, schema
        )
        results = facet(BackwardStep(node, inference, gradients, active, backward))
        for value, gradient in pairs_of(node, results):
            if value in active and value is not None and gradient is not None:
                self.contributions.setdefault(value, []).append(gradient)

    def visit_function(self, function: UnivariateFunction) -> None:
        """Adds the gradient of the argument of a function; the derivative of the function depends only on this argument."""
        gradient, x, y = self.total(function.y), function.x, function.y
        if gradient is None:
            return
        assert isinstance(y.type, TensorType), f"{y!r} has no known shape"
        unit = self.backward.constant(Tensor.of(np.ones(()), y.type.dtype))
        (slope,) = ReverseSweep(self.backward, finds_functions=False).run(function.nodes, [x], {y: unit})
        assert slope is not None, f"{y!r} does not depend on {x!r}"
        product = multiply_gradient(self.backward, gradient, slope, y.name)
        self.contributions.setdefault(x, []).append(product)

    def total(self, value: Value) -> Value | None:
        """The gradient of a value: the sum of all contributions; None if there is none."""
        parts = self.contributions.get(value)
        if not parts:
            return None
        while len(parts) > 1:
            parts[:2] = [add_gradients(self.backward, parts[0], parts[1], value.type)]
        return parts[0]


def pairs_of(node: Node, results: Gradients) -> Iterable[tuple[Value | None, Value | None]]:
    """The values that a node reads, with the gradients that its facet returned."""
    if isinstance(results, ValueGradients):
        return results.pairs
    return zip(node.inputs, [results] if isinstance(results, Value) else results, strict=False)


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
