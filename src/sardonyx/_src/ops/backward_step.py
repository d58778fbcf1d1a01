"""Backward steps: the context in which a gradient facet differentiates one node.

Reverse-mode differentiation (Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, chapter 3) visits nodes
in reverse order.  The gradient of a value is the derivative of the sum of all elements of the differentiated value with
respect to each of its elements, and has its shape and element type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import DifferentiationError
from sardonyx._src.ir import (
    Attribute,
    Graph,
    Node,
    OptionalType,
    SequenceType,
    Shape,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.node_context import NodeContext, trim_absent_inputs


@dataclass(frozen=True, slots=True)
class ValueGradients:
    """The gradients of a node whose subgraphs capture values.

    pairs: values that the node or its subgraphs read, each with a gradient; those of a value that occurs twice are added
    """

    pairs: Sequence[tuple[Value, Value]]


# The gradients of the inputs, in order.  None: no gradient flows to the input, as for integers; trailing None may be omitted.
Gradients: TypeAlias = "Value | Sequence[Value | None] | ValueGradients"


class BackwardGraph(Protocol):
    """The graph that gradients are computed in."""

    def append(self, node: Node) -> None:
        """Add a node at the end, and name its outputs."""
        ...

    def fresh(self, name: str) -> str:
        """An unused name based on this one."""
        ...

    def constant(self, tensor: Tensor) -> Value:
        """A tensor as a Constant; equal ones are shared."""
        ...

    def copy_body(self, body: Graph) -> Graph:
        """A copy of a subgraph for a new node, in which everything has new names."""
        ...

    def inline_body(self, body: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Add copies of the nodes of a subgraph, with its inputs replaced by arguments; returns its outputs."""
        ...

    def inside(self, body: Graph) -> BackwardGraph:
        """A subgraph as a graph that gradients are computed in."""
        ...

    def differentiate(self, sources: Sequence[Value], seeds: Mapping[Value, Value]) -> list[Value | None]:
        """The gradients of the sources, computed by new nodes of the graph from the gradients `seeds` of its values."""
        ...

    def gradient_terms(self, sources: Sequence[Value], seeds: Mapping[Value, Value]) -> list[Sequence[Value]]:
        """For each source, the terms whose sum is the gradient that `differentiate` returns; [] if there is no gradient."""
        ...


@dataclass(slots=True)
class BackwardStep(NodeContext):
    """A node whose output gradients are known; its gradient facet adds nodes that compute the gradients of its inputs.

    output_gradients: the gradient of each output; None for an output from which no gradient flows
    active: the values whose gradients are used
    """

    output_gradients: Sequence[Value | None]
    active: Collection[Value]
    graph: BackwardGraph

    # --- the node ------------------------------------------------------------------------------

    def output(self, i: int = 0) -> Value:
        """Output i of the node itself."""
        return self.node.outputs[i]

    def gradient(self, i: int = 0) -> Value:
        """The gradient of output i; zeros if none flows from it."""
        gradient = self.output_gradients[i] if i < len(self.output_gradients) else None
        return self.zeros_like(self.output(i)) if gradient is None else gradient

    def has_gradient(self, i: int) -> bool:
        """Whether a gradient flows from output i."""
        return i < len(self.output_gradients) and self.output_gradients[i] is not None

    def wants(self, i: int) -> bool:
        """Whether the gradient of input i is used."""
        return self.optional(i) in self.active

    def refuse(self, why: str) -> NoReturn:
        """Raises DifferentiationError at this node."""
        raise DifferentiationError(
            why,
            domain=self.node.domain,
            op_type=self.node.op_type,
            version=self.inference.version,
            location=location(self.node),
        )

    # --- new nodes -----------------------------------------------------------------------------

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: int,
        domain: str = "",
    ) -> tuple[Value, ...]:
        """Adds a node at the end of the graph."""
        stem = self.node.outputs[0].name if self.node.outputs else self.node.op_type
        results = [Value(f"{stem}_backward_{op_type}") for _ in range(outputs)]
        node = Node(op_type, trim_absent_inputs(inputs), results, dict(attributes), domain=domain)
        self.graph.append(node)
        return node.outputs

    def constant(self, values: object, dtype: DataType | None = None) -> Value:
        """The array-like `values` as a Constant."""
        return self.graph.constant(Tensor.of(values, dtype))

    def scalar(self, number: float, i: int = 0) -> Value:
        """A number as a scalar of the element type of input i."""
        return self.constant(np.asarray(number, np.float64), self.dtype(i))

    def zeros_like(self, value: Value) -> Value:
        """Zeros of the shape and element type of a tensor."""
        return fill_like(self.graph, value, 0)

    def reduce_to_input(self, gradient: Value, i: int) -> Value:
        """A gradient of the shape of output 0, to which input i was broadcast, summed to the shape of that input."""
        return self.reduce_to(gradient, shape_of(self.output()), self.input(i))

    def reduce_to(self, gradient: Value, shape: Shape | None, operand: Value) -> Value:
        """A gradient of `shape`, to which `operand` was broadcast, summed to the shape of the operand."""
        own = shape_of(operand)
        axes = None if shape is None or own is None else broadcast_axes(own, shape)
        if axes is None or shape is None or own is None:
            return self.reduce_by_sizes(gradient, operand)
        added = len(shape) - len(own)
        inner = [axis - added for axis in axes if axis >= added]
        if added:
            gradient = self.ReduceSum(gradient, self.integers(range(added)), keepdims=0)
        return self.ReduceSum(gradient, self.integers(inner)) if inner else gradient

    def reduce_by_sizes(self, gradient: Value, operand: Value) -> Value:
        """The result of `reduce_to` if the axes that were broadcast are only known during a run."""
        target = self.Shape(operand)
        added = self.Sub(self.Size(self.Shape(gradient)), self.Size(target))
        ones = self.Expand(self.integers([1]), self.Unsqueeze(added, self.integers([0])))
        is_one = self.Equal(self.Concat(ones, target, axis=0), self.integers(1))
        axes = self.Reshape(self.NonZero(is_one), self.integers([-1]))
        total = self.ReduceSum(gradient, axes, noop_with_empty_axes=1)
        return self.reshape_like(total, operand)

    def reshape_like(self, value: Value, operand: Value) -> Value:
        """The elements of `value` in the shape of a tensor."""
        return self.Reshape(value, self.Shape(operand), allowzero=1)


def fill_like(graph: BackwardGraph, value: Value, number: float) -> Value:
    """A tensor like `value` whose elements are all `number`; for a sequence, a sequence of such tensors."""
    if isinstance(value.type, SequenceType):
        return map_tensors(graph, [value], lambda body, inputs: fill_like(body, inputs[0], number))
    if isinstance(value.type, OptionalType):
        unwrap = Node("OptionalGetElement", [value], [Value(f"{value.name}_element", value.type.elem)])
        graph.append(unwrap)
        return fill_like(graph, unwrap.outputs[0], number)
    if not isinstance(value.type, TensorType):
        raise DifferentiationError(
            f"the type of {value.name!r} must be known; declare it, or those of the inputs"
        )
    shape = Node("Shape", [value], [Value(f"{value.name}_shape")])
    graph.append(shape)
    element = Attribute("value", AttributeType.TENSOR, Tensor.of(np.full(1, number), value.type.dtype))
    filled = Node("ConstantOfShape", shape.outputs, [Value(f"{value.name}_filled")], {"value": element})
    graph.append(filled)
    return filled.outputs[0]


def add_gradients(graph: BackwardGraph, a: Value, b: Value, type: Type | None) -> Value:
    """The sum of two gradients of a value of this type; gradients of a sequence are added element by element."""
    if isinstance(type, OptionalType):
        type = type.elem
    if isinstance(type, SequenceType):
        typed = [copy_as(graph, x, type) for x in (a, b)]
        elem = type.elem
        return map_tensors(graph, typed, lambda body, inputs: add_gradients(body, inputs[0], inputs[1], elem))
    node = Node("Add", [a, b], [Value(f"{a.name}_sum")])
    graph.append(node)
    return node.outputs[0]


def multiply_gradient(graph: BackwardGraph, gradient: Value, slope: Value, name: str) -> Value:
    """The gradient of a tensor times `slope`, the derivative of each element; `name` is that of the tensor."""
    node = Node("Mul", [gradient, slope], [Value(f"{name}_backward_Mul")])
    graph.append(node)
    return node.outputs[0]


def copy_as(graph: BackwardGraph, value: Value, type: Type) -> Value:
    """The value if its type is known, otherwise a copy of it with this type."""
    if value.type is not None:
        return value
    node = Node("Identity", [value], [Value(f"{value.name}_copy", type)])
    graph.append(node)
    return node.outputs[0]


def map_tensors(
    graph: BackwardGraph,
    sequences: Sequence[Value],
    function: Callable[[BackwardGraph, Sequence[Value]], Value],
) -> Value:
    """A SequenceMap over sequences of known types; `function` adds the nodes of its body."""
    body = Graph("elements")
    inputs = [
        body.add_input(Value(f"{x.name}_element", x.type.elem if isinstance(x.type, SequenceType) else None))
        for x in sequences
    ]
    for value in inputs:
        value.name = graph.fresh(value.name)
    result = function(graph.inside(body), inputs)
    body.outputs = [result]
    attribute = Attribute("body", AttributeType.GRAPH, body)
    node = Node("SequenceMap", sequences, [Value(f"{sequences[0].name}_map")], {"body": attribute})
    graph.append(node)
    return node.outputs[0]


def shape_of(value: Value) -> Shape | None:
    """The shape of a tensor, if its type is known."""
    return value.type.shape if isinstance(value.type, TensorType) else None


def broadcast_axes(operand: Shape, result: Shape) -> list[int] | None:
    """The axes of a result along which an operand was repeated; None if sizes decide it during the run."""
    added = len(result) - len(operand)
    axes = list(range(added))
    for axis, (own, size) in enumerate(zip(operand, result[added:], strict=True), added):
        if is_repeated(own, size) is None:
            return None
        if is_repeated(own, size):
            axes.append(axis)
    return axes


def is_repeated(own: Dim, size: Dim) -> bool | None:
    """Whether a dim was broadcast to `size`; None if it is not known."""
    if known_equal(own, size) or (isinstance(own, int) and own != 1):
        return False
    return True if own == 1 else None
