"""Gradients of Loop and Scan.

The gradient of a loop is a Scan over its iterations in reverse order.  The Scan reads the values that each iteration
computed, carries the gradients of the states, and sums the gradients of the values that the body captures.  Sequences,
which no scan output can collect, are computed again for each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.active import carries_gradient
from sardonyx._src.grad.operators.backward_loop import Iterations, run_backwards
from sardonyx._src.grad.operators.control_flow import (
    add_nodes,
    add_seed,
    body_of,
    captured_values,
    copy_inside,
    fill_inside,
)
from sardonyx._src.grad.operators.residuals import Residuals, Slices
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, TensorType, Type, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.backward_step import (
    BackwardGraph,
    BackwardStep,
    Gradients,
    ValueGradients,
    add_gradients,
)


@operator("Loop").gradient(25)
def loop(step: BackwardStep) -> Gradients:
    body = body_of(step.node.attributes["body"])
    if not all(isinstance(value.type, TensorType) for value in body.inputs):
        return repeated_loop(step, body)
    count = len(body.inputs) - 2
    gradients = [None if gradient is None else Slices(gradient) for gradient in step.output_gradients[count:]]
    residuals = Residuals(step, body, {})
    states = {value: step.input(2 + i) for i, value in enumerate(body.inputs[2:])}
    return run_backwards(step, Iterations(residuals, states, 1, {}, gradients))


@operator("Scan").gradient(25)
def scan(step: BackwardStep) -> Gradients:
    body = body_of(step.node.attributes["body"])
    count = len(body.inputs) - step.inference.integer("num_scan_inputs")
    scanned = {value: step.input(i) for i, value in enumerate(body.inputs[count:], count)}
    directions = axes_and_directions(step, "scan_input", len(scanned))
    slices = {
        value: Slices(tensor, *direction)
        for (value, tensor), direction in zip(scanned.items(), directions, strict=True)
    }
    scans = step.output_gradients[count:]
    result_directions = axes_and_directions(step, "scan_output", len(scans))
    gradients = [
        None if gradient is None else Slices(gradient, *direction)
        for gradient, direction in zip(scans, result_directions, strict=True)
    ]
    residuals = Residuals(step, body, slices, result_directions, directions[0][1])
    states = {value: step.input(i) for i, value in enumerate(body.inputs[:count])}
    return run_backwards(step, Iterations(residuals, states, 0, scanned, gradients))


def repeated_loop(step: BackwardStep, body: Graph) -> Gradients:
    """The gradient of a Loop that carries sequences, which no scan output can collect.

    For each iteration, a loop repeats all earlier ones to recover the states; the time grows with the square of their number.
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
    """The body of the backward Loop: it repeats the iterations before one, then runs that one forwards and backwards."""
    backward, count = Graph(step.graph.fresh("backward")), len(body.inputs) - 2
    inner = step.graph.inside(backward)

    def new_input(stem: str, type: Type | None) -> Value:
        return backward.add_input(Value(step.graph.fresh(stem), type))

    number = new_input("number", TensorType(DataType.INT64, ()))
    going = new_input("going", TensorType(DataType.BOOL, ()))
    gradients = [new_input(f"{body.inputs[2 + i].name}_gradient", body.inputs[2 + i].type) for i in carried]
    sums = [new_input(f"{source.name}_gradient", source.type) for source in sources]
    last = add_nodes(inner, "Sub", total, inner.constant(Tensor.of(np.int64(1))))
    iteration = add_nodes(inner, "Sub", last, number)
    iteration.type = TensorType(DataType.INT64, ())
    states = earlier_iterations(step, inner, body, iteration)
    results = inner.inline_body(body, [iteration, inner.constant(Tensor.of(np.True_)), *states])
    seeds: dict[Value, Value] = {}
    for i, gradient in zip(carried, gradients, strict=True):
        add_seed(inner, seeds, results[1 + i], gradient)
    for value, scan in zip(results[1 + count :], step.output_gradients[count:], strict=True):
        if scan is not None:
            add_seed(inner, seeds, value, add_nodes(inner, "Gather", scan, iteration))
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


def earlier_iterations(
    step: BackwardStep, inner: BackwardGraph, body: Graph, iteration: Value
) -> list[Value]:
    """The states of a Loop before an iteration, which is given by its number."""
    copy = step.graph.copy_body(body)
    count = len(copy.inputs) - 2
    copy.outputs = copy.outputs[: 1 + count]
    attribute = Attribute("body", AttributeType.GRAPH, copy)
    initial = [step.input(2 + i) for i in range(count)]
    states = [Value(f"{v.name}_before", v.type) for v in body.inputs[2:]]
    node = Node("Loop", [iteration, step.optional(1), *initial], states, {"body": attribute})
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
