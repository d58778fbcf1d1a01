"""Gradients of If, and functions that the gradients of all operators with subgraphs share.

The gradient of If is an If whose branches repeat the forward computation and continue with the backward one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Attribute, Graph, Node, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.backward_step import (
    BackwardGraph,
    BackwardStep,
    Gradients,
    ValueGradients,
    add_gradients,
    fill_like,
)


@operator("If").gradient(25)
def if_(step: BackwardStep) -> Gradients:
    """A captured value that only one branch reads has the gradient 0 in the other branch."""
    sources = captured_values(step, step.node.subgraphs)
    branches = {name: backward_branch(step, branch, sources) for name, branch in step.node.attributes.items()}
    gradients = step.add("If", step.node.inputs, branches, len(sources))
    return ValueGradients(list(zip(sources, gradients, strict=True)))


def captured_values(step: BackwardStep, graphs: Sequence[Graph]) -> list[Value]:
    """The active values that subgraphs capture, each once."""
    values = dict.fromkeys(value for graph in graphs for value in captures(graph))
    return [value for value in values if value in step.active]


def backward_branch(step: BackwardStep, branch: Attribute, sources: Sequence[Value]) -> Attribute:
    """A branch whose outputs are the gradients of captured values."""
    body = step.graph.copy_body(body_of(branch))
    inner = step.graph.inside(body)
    seeds: dict[Value, Value] = {}
    for value, gradient in zip(body.outputs, step.output_gradients, strict=True):
        if gradient is not None:
            add_seed(inner, seeds, value, gradient)
    gradients = inner.differentiate(sources, seeds)
    body.outputs = [
        copy_inside(inner, fill_inside(inner, source) if gradient is None else gradient)
        for source, gradient in zip(sources, gradients, strict=True)
    ]
    return Attribute(branch.name, AttributeType.GRAPH, body)


def body_of(graph: Attribute) -> Graph:
    assert isinstance(graph.value, Graph), f"{graph.name} is no graph"
    return graph.value


def add_seed(graph: BackwardGraph, seeds: dict[Value, Value], value: Value, gradient: Value) -> None:
    """Adds a gradient of a value; a value that is several outputs of its graph has several, which are summed."""
    seeds[value] = add_gradients(graph, seeds[value], gradient, value.type) if value in seeds else gradient


def fill_inside(graph: BackwardGraph, source: Value) -> Value:
    """Zeros in the shape of a value, its gradient where nothing contributes to it."""
    return fill_like(graph, source, 0)


def copy_inside(graph: BackwardGraph, value: Value) -> Value:
    """A copy of a value, by a node of the subgraph: an output of a subgraph must be computed inside it."""
    return add_nodes(graph, "Identity", value)


def add_nodes(graph: BackwardGraph, op_type: str, *inputs: Value) -> Value:
    """The result of a new node."""
    node = Node(op_type, inputs, [Value(f"{inputs[0].name}_{op_type}")])
    graph.append(node)
    return node.outputs[0]
