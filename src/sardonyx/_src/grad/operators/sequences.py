"""Gradients of operators on sequences and optionals.

The gradient of a sequence is the sequence of the gradients of its elements.  The gradient of an optional is the gradient of
its element: no gradient flows from an empty optional.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.operators.control_flow import (
    add_seed,
    body_of,
    captured_values,
    copy_inside,
    fill_inside,
)
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Attribute, Graph, Node, SequenceType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, ValueGradients


def position_of(step: BackwardStep, i: int, sequence: Value) -> Value:
    """Input i as a position counted from the front of a sequence; its last element if the input is left out."""
    length = step.SequenceLength(sequence)
    position = step.optional(i)
    if position is None:
        return step.Sub(length, step.integers(1))
    place = step.op("Cast", position, to=7)
    return step.Where(step.Less(place, step.integers(0)), step.Add(place, length), place)


@operator("SequenceConstruct").gradient(11)
def sequence_construct(step: BackwardStep) -> Gradients:
    return [step.SequenceAt(step.gradient(), step.integers(i)) for i in range(len(step.node.inputs))]


@operator("SequenceAt").gradient(11)
def sequence_at(step: BackwardStep) -> Gradients:
    """The gradient at the position of the element, and zeros for all other elements."""
    position = position_of(step, 1, step.input(0))
    others = step.SequenceErase(step.zeros_like(step.input(0)), position)
    return step.SequenceInsert(others, step.gradient(), position)


@operator("SequenceInsert").gradient(11)
def sequence_insert(step: BackwardStep) -> Gradients:
    position, length = step.optional(2), step.SequenceLength(step.input(0))
    place = length if position is None else position_of(step, 2, step.input(0))
    return [step.SequenceErase(step.gradient(), place), step.SequenceAt(step.gradient(), place)]


@operator("SequenceErase").gradient(11)
def sequence_erase(step: BackwardStep) -> Gradients:
    position = position_of(step, 1, step.input(0))
    erased = step.SequenceAt(step.zeros_like(step.input(0)), position)
    return step.SequenceInsert(step.gradient(), erased, position)


@operator("SplitToSequence").gradient(24)
def split_to_sequence(step: BackwardStep) -> Gradients:
    """The gradients of the parts are concatenated, or stacked if the parts lack the axis (keepdims 0)."""
    x, axis = step.input(0), step.axis()
    if not step.inference.has(1) and not step.inference.integer("keepdims"):
        return step.op("ConcatFromSequence", step.gradient(), axis=axis, new_axis=1)
    return step.reshape_like(step.op("ConcatFromSequence", step.gradient(), axis=axis), x)


@operator("ConcatFromSequence").gradient(11)
def concat_from_sequence(step: BackwardStep) -> Gradients:
    axis = step.inference.integer("axis")
    if step.inference.integer("new_axis"):
        return step.op("SplitToSequence", step.gradient(), axis=axis, keepdims=0)
    sizes = sizes_of_elements(step, step.input(0), axis)
    return step.op("SplitToSequence", step.gradient(), sizes, axis=axis)


def sizes_of_elements(step: BackwardStep, sequence: Value, axis: int) -> Value:
    """The sizes of all elements of a sequence along an axis: [length]."""
    element = sequence.type.elem if isinstance(sequence.type, SequenceType) else None
    body = Graph("sizes")
    x = body.add_input(Value(step.graph.fresh("element"), element))
    inner = step.graph.inside(body)
    attributes = {} if axis == -1 else {"end": Attribute("end", AttributeType.INT, axis + 1)}
    start = Attribute("start", AttributeType.INT, axis)
    size = Node("Shape", [x], [Value("size")], {"start": start, **attributes})
    inner.append(size)
    body.outputs = [size.outputs[0]]
    parts = step.add("SequenceMap", [sequence], {"body": Attribute("body", AttributeType.GRAPH, body)}, 1)
    return step.op("ConcatFromSequence", *parts, axis=0)


@operator("SequenceMap").gradient(17)
def sequence_map(step: BackwardStep) -> Gradients:
    """Another SequenceMap, whose body repeats the computation of an element and continues with the backward one.

    Gradients of values that all elements share, captured ones and tensors among the inputs, are summed over the elements.
    """
    body = step.graph.copy_body(body_of(step.node.attributes["body"]))
    inner = step.graph.inside(body)
    formals, results = list(body.inputs), list(body.outputs)
    seeds: dict[Value, Value] = {}
    gradients = []
    for i, result in enumerate(results):
        if step.has_gradient(i):
            seed = body.add_input(Value(f"{result.name}_gradient", result.type))
            add_seed(inner, seeds, result, seed)
            gradients.append(step.gradient(i))
    inputs = [step.input(i) for i in range(len(formals))]
    used = [i for i, value in enumerate(inputs) if value in step.active]
    shared = captured_values(step, [body_of(step.node.attributes["body"])])
    sources = [*(formals[i] for i in used), *shared]
    own = inner.differentiate(sources, seeds)
    body.outputs = [
        copy_inside(inner, fill_inside(inner, source) if gradient is None else gradient)
        for source, gradient in zip(sources, own, strict=True)
    ]
    attribute = {"body": Attribute("body", AttributeType.GRAPH, body)}
    rows = step.add("SequenceMap", [*inputs, *gradients], attribute, len(sources))
    values = [*(inputs[i] for i in used), *shared]
    return ValueGradients(
        [(value, over_elements(step, value, row)) for value, row in zip(values, rows, strict=True)]
    )


def over_elements(step: BackwardStep, value: Value, row: Value) -> Value:
    """The gradient of an input from the sequence `row` of its gradients for each element.

    That is `row` itself for a sequence, and the sum of its elements for a value that all elements share.
    """
    if isinstance(value.type, SequenceType):
        return row
    stacked = step.op("ConcatFromSequence", row, axis=0, new_axis=1)
    return step.ReduceSum(stacked, step.integers([0]), keepdims=0)


@operator("Optional").gradient(28)
@operator("OptionalGetElement").gradient(28)
def element(step: BackwardStep) -> Gradients:
    gradients: Sequence[Value | None] = [step.gradient()]
    return gradients
