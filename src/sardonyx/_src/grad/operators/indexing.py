"""Gradients of Gather, GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter, Unique and OneHot."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.grad.operators.shapes import element_numbers, pad_with_zeros, scatter_elements
from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, shape_of


@operator("Gather").gradient(13)
@operator("GatherElements").gradient(13)
@operator("GatherND").gradient(13)
def gather(step: BackwardStep) -> Gradients:
    """The gradient is scattered to the elements that were gathered; one known entry of an axis is padded with zeros instead.

    The operator itself, applied to the numbers of the elements of its input, returns where each element came from.
    """
    x = step.input(0)
    margins = entry_margins(step) if step.node.op_type == "Gather" else None
    if margins is not None:
        dy, index = step.gradient(), step.inference.rank(1)
        return pad_with_zeros(step, dy if index else step.Unsqueeze(dy, step.integers([*margins])), margins)
    (positions,) = step.add(
        step.node.op_type, [element_numbers(step, x), *step.node.inputs[1:]], step.node.attributes, 1
    )
    return scatter_elements(step, step.gradient(), positions, x)


def entry_margins(step: BackwardStep) -> dict[int, tuple[int, int]] | None:
    """The numbers of entries before and after the single entry of an axis that a Gather takes, by axis.

    None if it takes several entries, or one at an index that is not known.
    """
    index, shape, axis = step.inference.constant(1), step.inference.shape(0), step.axis()
    size = shape[axis] if shape else None
    if index is None or index.size != 1 or index.ndim > 1 or not isinstance(size, int) or not size:
        return None
    place = int(index.item()) % size
    return {axis: (place, size - 1 - place)}


@operator("ScatterElements").gradient(18)
@operator("ScatterND").gradient(18)
def scatter(step: BackwardStep) -> Gradients:
    reduction = str(step.inference.attributes["reduction"])
    if reduction == "mul":
        return product_gradients(step)
    if reduction in ("max", "min"):
        return extremum_gradients(step)
    dy = step.gradient()
    updates = gathered(step, dy) if step.wants(2) else None
    if reduction == "add":
        return [dy, None, updates]
    return [scattered(step, dy, step.zeros_like(step.input(2))), None, updates]


def gathered(step: BackwardStep, x: Value) -> Value:
    """The elements of x where the node scatters to, in the shape of its updates."""
    if step.node.op_type == "ScatterND":
        tuples = shape_of(step.input(1))
        if tuples is not None and tuples[-1] == 0:  # every update replaces the whole tensor
            return step.Expand(x, step.Shape(step.input(2)))
        return step.op("GatherND", x, step.input(1))
    return step.op("GatherElements", x, step.input(1), axis=step.inference.integer("axis"))


def scattered(step: BackwardStep, x: Value, updates: Value, reduction: str = "none") -> Value:
    """x with updates scattered as the node does it."""
    axis = None if step.node.op_type == "ScatterND" else step.inference.integer("axis")
    return step.op(step.node.op_type, x, step.input(1), updates, axis=axis, reduction=reduction)


def product_gradients(step: BackwardStep) -> Gradients:
    """The gradient of a factor is the product of all other factors of its element, without a division by an update of 0."""
    x, updates, dy = step.input(0), step.input(2), step.gradient()
    zero, unit = step.scalar(0), step.scalar(1)
    ones = step.Expand(unit, step.Shape(x))
    dx = step.Mul(dy, scattered(step, ones, updates, "mul"))
    if not step.wants(2):
        return dx
    is_zero = step.Equal(updates, zero)
    nonzero = step.Where(is_zero, unit, updates)
    zeros = scattered(step, step.zeros_like(x), step.CastLike(is_zero, updates), "add")
    # For each update: the product of x and all factors of its element that are not 0, and the number of other updates of 0.
    product = gathered(step, scattered(step, x, nonzero, "mul"))
    count = step.Sub(gathered(step, zeros), step.CastLike(is_zero, updates))
    others = step.Where(step.Equal(count, zero), step.Div(product, nonzero), zero)
    return [dx, None, step.Mul(gathered(step, dy), others)]


def extremum_gradients(step: BackwardStep) -> Gradients:
    """Operands that are equal to the result share its gradient."""
    x, updates, y = step.input(0), step.input(2), step.output()
    own = step.CastLike(step.Equal(x, y), x)
    hits = step.CastLike(step.Equal(updates, gathered(step, y)), x)
    share = step.Div(step.gradient(), step.Max(scattered(step, own, hits, "add"), step.scalar(1)))
    return [step.Mul(share, own), None, step.Mul(gathered(step, share), hits)]


@operator("Unique").gradient(28)
def unique(step: BackwardStep) -> Gradients:
    """The gradient goes to the first of equal elements, or slices; the second output, `indices`, has their positions."""
    x = step.input(0)
    _, first, _, _ = step.add("Unique", [x], step.node.attributes, 4)
    numbers, axis = element_numbers(step, x), step.inference.attributes.get("axis")
    if axis is None:
        return scatter_elements(step, step.gradient(), first, x)
    return scatter_elements(step, step.gradient(), step.op("Gather", numbers, first, axis=axis), x)


@operator("TensorScatter").gradient(24)
def tensor_scatter(step: BackwardStep) -> Gradients:
    """The operator itself, applied to the numbers of the elements, returns where each element of the result came from.

    The elements of the update are numbered after those of the cache.
    """
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
    size, flat = step.Size(x), step.integers([-1])
    inner = step.Where(
        is_other, size, numbers
    )  # elements of the other operand go past the end, which is cut off
    zeros = step.op("Pad", step.Reshape(step.zeros_like(x), flat), step.integers([0, 1]))
    sums = step.op(
        "ScatterElements",
        zeros,
        step.Reshape(inner, flat),
        step.Reshape(step.gradient(), flat),
        axis=0,
        reduction="add",
    )
    return step.reshape_like(step.Slice(sums, step.integers([0]), step.Reshape(size, flat)), x)


@operator("OneHot").gradient(28)
def one_hot(step: BackwardStep) -> Gradients:
    """dvalues: the sum of the gradient where the result is the off value, and where it is the on value.

    A OneHot with the values 0 and 1 distinguishes the two.
    """
    dy = step.gradient()
    bits = step.constant([0, 1], step.dtype(2))
    (hits,) = step.add("OneHot", [step.input(0), step.input(1), bits], step.node.attributes, 1)
    on = step.op("ReduceSum", step.Mul(dy, hits), keepdims=0)
    total = step.op("ReduceSum", dy, keepdims=0)
    axis = step.integers([0])
    parts = [step.Unsqueeze(part, axis) for part in (step.Sub(total, on), on)]
    return [None, None, step.op("Concat", *parts, axis=0)]


@decomposition("Scatter", 11)
def scatter_11(step: BackwardStep) -> Sequence[Value | None] | None:
    return [step.op("ScatterElements", *step.node.inputs, axis=step.inference.integer("axis"))]
