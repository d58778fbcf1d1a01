"""Gradients of If, Loop and Scan.

The gradient of If is an If whose branches repeat the forward computation and continue with the backward one.  That of a
loop runs backwards over its iterations: a second forward loop also collects the state before each of them, and a Scan
visits these in reverse order, repeats the iteration, carries the gradients of the state, and adds up those of the values
that the body captures.  States that no scan output can collect, as sequences, are computed anew before each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.active import carries_gradient
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import TensorType, Type
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
    """Captured values that one branch alone reads have the gradient 0 in the other."""
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
    """Adds a gradient of a value, which may be several outputs of its graph at once."""
    seeds[value] = add_gradients(graph, seeds[value], gradient, value.type) if value in seeds else gradient


def fill_inside(graph: BackwardGraph, source: Value) -> Value:
    """The gradient 0 of a value."""
    return fill_like(graph, source, 0)


def copy_inside(graph: BackwardGraph, value: Value) -> Value:
    """A copy of a value that an output of a subgraph can be: of a node of that graph."""
    return add_nodes(graph, "Identity", value)


def add_nodes(graph: BackwardGraph, op_type: str, *inputs: Value) -> Value:
    """The result of a new node."""
    node = Node(op_type, inputs, [Value(f"{inputs[0].name}_{op_type}")])
    graph.append(node)
    return node.outputs[0]


# --- loops -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slices:
    """A tensor of which each iteration of a Scan reads or writes a slice along an axis, forwards (0) or backwards (1)."""

    tensor: Value
    axis: int = 0
    direction: int = 0


@dataclass(frozen=True, slots=True)
class Iterations:
    """A loop that has run, to be run backwards.

    arguments: what each iteration received for the inputs of the body.  states: the positions of those that are carried
    from iteration to iteration; `first_result` is the position of the first state among the outputs.  scan_gradients:
    the gradients of the outputs after the states, where they flow.
    """

    body: Graph
    arguments: Sequence[Slices]
    states: range
    first_result: int
    scan_gradients: Sequence[Slices | None]


@operator("Loop").gradient(25)
def loop(step: BackwardStep) -> Gradients:
    """The body of the second forward loop also returns its inputs, as scan outputs."""
    body = body_of(step.node.attributes["body"])
    if not all(isinstance(value.type, TensorType) for value in body.inputs):
        return repeated_loop(step, body)
    count = len(body.inputs) - 2
    forward = collecting_body(step, body, len(body.inputs))
    results = step.add("Loop", step.node.inputs, {"body": forward}, len(body.outputs) - 1 + len(body.inputs))
    arguments = [Slices(value) for value in results[len(body.outputs) - 1 :]]
    gradients = [None if gradient is None else Slices(gradient) for gradient in step.output_gradients[count:]]
    iterations = Iterations(body, arguments, range(2, 2 + count), 1, gradients)
    return run_backwards(step, iterations, [step.input(2 + i) for i in range(count)], [])


@operator("Scan").gradient(25)
def scan(step: BackwardStep) -> Gradients:
    """The body of the second forward Scan also returns its states, as scan outputs."""
    body = body_of(step.node.attributes["body"])
    count = len(body.inputs) - step.inference.integer("num_scan_inputs")
    attributes = {**step.node.attributes, "body": collecting_body(step, body, count)}
    for name in {"scan_output_axes", "scan_output_directions"} & attributes.keys():
        attributes[name] = attribute(name, [*(step.inference.integers(name) or ()), *[0] * count])
    results = step.add("Scan", step.node.inputs, attributes, len(body.outputs) + count)
    inputs = [step.input(i) for i in range(count, len(body.inputs))]
    places = axes_and_directions(step, "scan_input", len(inputs))
    arguments = [Slices(value) for value in results[len(body.outputs) :]]
    arguments += [Slices(value, *place) for value, place in zip(inputs, places, strict=True)]
    scans = step.output_gradients[count:]
    gradients = [
        None if gradient is None else Slices(gradient, *place)
        for gradient, place in zip(scans, axes_and_directions(step, "scan_output", len(scans)), strict=True)
    ]
    iterations = Iterations(body, arguments, range(count), 0, gradients)
    return run_backwards(step, iterations, [step.input(i) for i in range(count)], inputs)


def repeated_loop(step: BackwardStep, body: Graph) -> Gradients:
    """The gradient of a Loop that carries sequences, which no scan output can collect.

    Before each iteration backwards, a loop over those before it repeats them; time grows with the square of their number.
    """
    count = len(body.inputs) - 2
    results = step.add("Loop", step.node.inputs, {"body": collecting_body(step, body, 1)}, len(body.outputs))
    total = step.Size(results[-1])
    carried = [i for i in range(count) if carries_gradient(body.inputs[2 + i].type)]
    sources = captured_values(step, [body])
    backward = repeating_body(step, body, total, carried, sources)
    states = [*(step.gradient(i) for i in carried), *(step.zeros_like(value) for value in sources)]
    attributes = {"body": Attribute("body", AttributeType.GRAPH, backward)}
    gradients = step.add("Loop", [total, None, *states], attributes, len(states)) if states else ()
    values = [*(step.input(2 + i) for i in carried), *sources]
    return ValueGradients(list(zip(values, gradients, strict=True)))


def repeating_body(
    step: BackwardStep, body: Graph, total: Value, carried: Sequence[int], sources: Sequence[Value]
) -> Graph:
    """The body of the backward Loop: the iterations before one, that one forwards, then backwards."""
    backward, count = Graph(step.graph.fresh("backward")), len(body.inputs) - 2
    inner = step.graph.inside(backward)

    def new_input(stem: str, type: Type | None) -> Value:
        return backward.add_input(Value(step.graph.fresh(stem), type))

    number = new_input("number", TensorType(DataType.INT64, ()))
    going = new_input("going", TensorType(DataType.BOOL, ()))
    gradients = [new_input(f"{body.inputs[2 + i].name}_gradient", body.inputs[2 + i].type) for i in carried]
    sums = [new_input(f"{source.name}_gradient", source.type) for source in sources]
    last = add_nodes(inner, "Sub", total, inner.constant(Tensor.of(np.int64(1))))
    place = add_nodes(inner, "Sub", last, number)
    place.type = TensorType(DataType.INT64, ())
    states = earlier_iterations(step, inner, body, place)
    results = inner.inline_body(body, [place, inner.constant(Tensor.of(np.True_)), *states])
    seeds: dict[Value, Value] = {}
    for i, gradient in zip(carried, gradients, strict=True):
        add_seed(inner, seeds, results[1 + i], gradient)
    for value, scan in zip(results[1 + count :], step.output_gradients[count:], strict=True):
        if scan is not None:
            add_seed(inner, seeds, value, add_nodes(inner, "Gather", scan, place))
    formals = [states[i] for i in carried]
    own = inner.differentiate([*formals, *sources], seeds)
    filled = [
        copy_inside(inner, fill_inside(inner, formal) if gradient is None else gradient)
        for formal, gradient in zip(formals, own[: len(formals)], strict=True)
    ]
    totals = [
        copy_inside(inner, sum_ if gradient is None else add_gradients(inner, sum_, gradient, sum_.type))
        for sum_, gradient in zip(sums, own[len(formals) :], strict=True)
    ]
    backward.outputs = [copy_inside(inner, going), *filled, *totals]
    return backward


def earlier_iterations(step: BackwardStep, inner: BackwardGraph, body: Graph, place: Value) -> list[Value]:
    """The states of a Loop before the iteration of number `place`."""
    copy = step.graph.copy_body(body)
    count = len(copy.inputs) - 2
    copy.outputs = copy.outputs[: 1 + count]
    attribute = Attribute("body", AttributeType.GRAPH, copy)
    initial = [step.input(2 + i) for i in range(count)]
    states = [Value(f"{v.name}_before", v.type) for v in body.inputs[2:]]
    node = Node("Loop", [place, step.optional(1), *initial], states, {"body": attribute})
    inner.append(node)
    return states


def collecting_body(step: BackwardStep, body: Graph, count: int) -> Attribute:
    """A copy of a body that also returns its first `count` inputs."""
    copy = step.graph.copy_body(body)
    inner = step.graph.inside(copy)
    copy.outputs += [copy_inside(inner, value) for value in copy.inputs[:count]]
    return Attribute("body", AttributeType.GRAPH, copy)


def axes_and_directions(step: BackwardStep, kind: str, count: int) -> list[tuple[int, int]]:
    """The axis and the direction of each scan input or output."""
    axes = step.inference.integers(f"{kind}_axes") or (0,) * count
    directions = step.inference.integers(f"{kind}_directions") or (0,) * count
    return list(zip(axes, directions, strict=True))


def run_backwards(
    step: BackwardStep, iterations: Iterations, initial: Sequence[Value], scanned: Sequence[Value]
) -> Gradients:
    """The gradients of initial states, of scan inputs and of captured values, by a Scan over the iterations in reverse.

    Its states are the gradients of the states and the sums of those of captured values.
    """
    carried = [i for i in iterations.states if carries_gradient(iterations.body.inputs[i].type)]
    first = iterations.states.start
    sources = captured_values(step, [iterations.body])
    last = len(iterations.arguments) - len(scanned)
    read = [i for i, value in enumerate(scanned, last) if value in step.active]
    body = backward_body(step, iterations, carried, sources, read)
    flowing = [slices for slices in iterations.scan_gradients if slices is not None]
    slices = [*iterations.arguments, *flowing]
    states = [*(step.gradient(i - first) for i in carried), *(step.zeros_like(value) for value in sources)]
    attributes = {
        "body": Attribute("body", AttributeType.GRAPH, body),
        "num_scan_inputs": attribute("num_scan_inputs", len(slices)),
        "scan_input_axes": attribute("scan_input_axes", [s.axis for s in slices]),
        "scan_input_directions": attribute("scan_input_directions", [1 - s.direction for s in slices]),
    }
    if read:
        written = [iterations.arguments[i] for i in read]
        attributes["scan_output_axes"] = attribute("scan_output_axes", [s.axis for s in written])
        attributes["scan_output_directions"] = attribute(
            "scan_output_directions", [1 - s.direction for s in written]
        )
    results = step.add("Scan", [*states, *(s.tensor for s in slices)], attributes, len(body.outputs))
    values = [*(initial[i - first] for i in carried), *sources, *(scanned[i - last] for i in read)]
    return ValueGradients(list(zip(values, results, strict=True)))


def backward_body(
    step: BackwardStep,
    iterations: Iterations,
    carried: Sequence[int],
    sources: Sequence[Value],
    read: Sequence[int],
) -> Graph:
    """The body of the backward Scan: one iteration forwards, then backwards."""
    body = step.graph.copy_body(iterations.body)
    inner = step.graph.inside(body)
    arguments, results = body.inputs, list(body.outputs)
    seeds: dict[Value, Value] = {}
    offset = iterations.first_result - iterations.states.start
    for place, i in enumerate(carried):
        gradient = body.add_input(Value(f"{arguments[i].name}_gradient", arguments[i].type), place)
        add_seed(inner, seeds, results[i + offset], gradient)
    sums = [
        body.add_input(Value(f"{source.name}_gradient", source.type), len(carried) + place)
        for place, source in enumerate(sources)
    ]
    scans = results[iterations.first_result + len(iterations.states) :]
    for value, slices in zip(scans, iterations.scan_gradients, strict=True):
        if slices is not None:
            add_seed(inner, seeds, value, body.add_input(Value(f"{value.name}_gradient", value.type)))
    formals = [arguments[i] for i in (*carried, *read)]
    gradients = inner.differentiate([*formals, *sources], seeds)
    own, outer = gradients[: len(formals)], gradients[len(formals) :]
    filled = [
        copy_inside(inner, fill_inside(inner, formal) if gradient is None else gradient)
        for formal, gradient in zip(formals, own, strict=True)
    ]
    totals = [
        copy_inside(inner, total) if gradient is None else add_gradients(inner, total, gradient, total.type)
        for total, gradient in zip(sums, outer, strict=True)
    ]
    body.outputs = [*filled[: len(carried)], *totals, *filled[len(carried) :]]
    return body
