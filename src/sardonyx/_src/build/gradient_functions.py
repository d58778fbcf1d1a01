"""Gradients of operators that callers define: functions that append the backward nodes with a builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.build.builder import Builder
from sardonyx._src.build.operand import Operand
from sardonyx._src.errors import InferenceError, InputError
from sardonyx._src.infer.merge import merge_types
from sardonyx._src.ir import Graph, Value
from sardonyx._src.ops.api import GradientFacet
from sardonyx._src.ops.backward_step import BackwardStep, Gradients
from sardonyx._src.schema import OpSchema, latest

GradientFunction = Callable[..., object]


def gradient_facet(function: GradientFunction, schema: OpSchema) -> GradientFacet:
    """The gradient facet of `function(b, inputs, outputs, gradients, **attributes)`."""
    return lambda step: run_gradient_function(function, schema, step)


def run_gradient_function(function: GradientFunction, schema: OpSchema, step: BackwardStep) -> Gradients:
    """The gradients of the inputs of a node; the nodes that the function appends are added to the graph of the step.

    Raises DifferentiationError if the function does not apply to the types of the node, uses a domain that the model does
    not import, or returns gradients that do not fit the inputs.
    """
    node = step.node
    inputs = [step.optional(i) for i in range(len(node.inputs))]
    gradients = [step.gradient(i) for i in range(len(node.outputs))]
    sources = [value for value in (*inputs, *node.outputs, *gradients) if value is not None]
    builder, body = Builder(latest(""), imports={schema.domain: schema.since_version}), Graph("gradient")
    known = dict(builder.imports)
    types = [value.type for value in (*inputs, *node.outputs, *node.outputs) if value is not None]
    for i, type in enumerate(types):
        body.add_input(Operand(builder, builder.state.reserve(f"operand_{i}"), type))
    operands = iter(body.inputs)
    groups = [
        [None if value is None else next(operands) for value in group]
        for group in (inputs, node.outputs, gradients)
    ]
    try:
        with builder.state.scopes.enter(body, is_function=True):
            results = function(builder, *groups, **step.inference.attributes)
            body.outputs = list(convert_results(builder, results, inputs))
    except (InputError, InferenceError) as error:
        step.refuse(f"its gradient function failed: {error}")
    if builder.imports != known:
        others = ", ".join(sorted(builder.imports.keys() - known.keys()))
        step.refuse(
            f"its gradient function must use standard operators and those of {schema.domain}; got {others}"
        )
    values = iter(step.graph.inline_body(body, sources))
    items = results if isinstance(results, tuple | list) else [results]
    return [None if item is None else next(values) for item in items]


def convert_results(builder: Builder, results: object, inputs: Sequence[Value | None]) -> list[Value]:
    """The gradients that a function returned; raises InputError unless they fit the inputs."""
    items = list(results) if isinstance(results, tuple | list) else [results]
    if len(items) != len(inputs):
        raise InputError(
            f"it must return a gradient, or None, for each of {len(inputs)} inputs; got {len(items)}",
            name="gradient",
        )
    values: list[Value] = []
    for i, (item, value) in enumerate(zip(items, inputs, strict=True)):
        if item is None:
            continue
        if value is None:
            raise InputError(
                f"the gradient of input {i} must be None, as the input is left out", name="gradient"
            )
        result = builder.Identity(item)  # type: ignore[arg-type]  # checked there
        try:
            merge_types(value.type, result.type)
        except InferenceError as error:
            raise InputError(
                f"the gradient of input {i} must have its type: {error.why}", name="gradient"
            ) from None
        values.append(result)
    return values
