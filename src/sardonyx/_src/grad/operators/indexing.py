"""Gradients of Gather, GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter and OneHot."""

from __future__ import annotations

from sardonyx._src.grad.operators.shapes import element_numbers, scatter_elements
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


@operator("Gather").gradient(13)
@operator("GatherElements").gradient(13)
@operator("GatherND").gradient(13)
def gather(step: BackwardStep) -> Gradients:
    """The operator itself, applied to the numbers of the elements, tells where each one came from."""
    x = step.input(0)
    (positions,) = step.add(
        step.node.op_type, [element_numbers(step, x), *step.node.inputs[1:]], step.node.attributes, 1
    )
    return scatter_elements(step, step.gradient(), positions, x)


@operator("ScatterElements").gradient(18)
def scatter_elements_(step: BackwardStep) -> Gradients:
    axis, indices, dy = step.inference.integer("axis"), step.input(1), step.gradient()
    require_sum(step)
    updates = step.op("GatherElements", dy, indices, axis=axis)
    if step.inference.attributes["reduction"] == "add":
        return [dy, None, updates]
    zeros = step.zeros_like(step.input(2))
    return [step.op("ScatterElements", dy, indices, zeros, axis=axis), None, updates]


@operator("ScatterND").gradient(18)
def scatter_nd(step: BackwardStep) -> Gradients:
    indices, dy = step.input(1), step.gradient()
    require_sum(step)
    updates = step.op("GatherND", dy, indices)
    if step.inference.attributes["reduction"] == "add":
        return [dy, None, updates]
    return [step.op("ScatterND", dy, indices, step.zeros_like(step.input(2))), None, updates]


def require_sum(step: BackwardStep) -> None:
    """Refuses reductions other than sums."""
    reduction = step.inference.attributes["reduction"]
    if reduction not in ("none", "add"):
        step.refuse(f"its reduction must be 'none' or 'add'; got {reduction!r}")


@operator("TensorScatter").gradient(24)
def tensor_scatter(step: BackwardStep) -> Gradients:
    """The numbers of elements, past those of the cache for the update, tell where each element came from."""
    cache, update = step.input(0), step.input(1)
    own = element_numbers(step, cache)
    count = step.Size(cache)
    other = step.Add(element_numbers(step, update), count)
    (sources,) = step.add("TensorScatter", [own, other, *step.node.inputs[2:]], step.node.attributes, 1)
    is_update = step.GreaterOrEqual(sources, count)
    return [
        part(step, sources, is_update, cache, None),
        part(step, sources, step.Not(is_update), update, count),
    ]


def part(step: BackwardStep, sources: Value, is_other: Value, x: Value, offset: Value | None) -> Value:
    """The gradient of the operand whose elements have numbers from `offset` on."""
    numbers = sources if offset is None else step.Sub(sources, offset)
    inner = step.Where(is_other, step.integers(0), numbers)
    return scatter_elements(step, step.Where(is_other, step.scalar(0), step.gradient()), inner, x)


@operator("OneHot").gradient(28)
def one_hot(step: BackwardStep) -> Gradients:
    """dvalues: the sums where the result is the off and where it is the on value; OneHot of 0 and 1 tells them apart."""
    dy = step.gradient()
    bits = step.constant([0, 1], step.dtype(2))
    (hits,) = step.add("OneHot", [step.input(0), step.input(1), bits], step.node.attributes, 1)
    on = step.op("ReduceSum", step.Mul(dy, hits), keepdims=0)
    total = step.op("ReduceSum", dy, keepdims=0)
    axis = step.integers([0])
    parts = [step.Unsqueeze(part, axis) for part in (step.Sub(total, on), on)]
    return [None, None, step.op("Concat", *parts, axis=0)]
