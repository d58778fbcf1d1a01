"""Gradients of operators that arrange elements: Reshape, Transpose, Concat, Split, Slice, Pad, Expand, Tile and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


@operator("Reshape").gradient(25)
@operator("Flatten").gradient(25)
@operator("Squeeze").gradient(25)
@operator("Unsqueeze").gradient(25)
def reshape(step: BackwardStep) -> Gradients:
    return step.reshape_like(step.gradient(), step.input(0))


@operator("Expand").gradient(13)
def expand(step: BackwardStep) -> Gradients:
    return step.reduce_to_input(step.gradient(), 0)


@operator("Transpose").gradient(25)
def transpose(step: BackwardStep) -> Gradients:
    perm = step.inference.integers("perm")
    inverse = None if perm is None else [int(axis) for axis in np.argsort(perm)]
    return step.op("Transpose", step.gradient(), perm=inverse or None)


@operator("Concat").gradient(13)
def concat(step: BackwardStep) -> Gradients:
    axis, inputs = step.axis(), [step.input(i) for i in range(len(step.node.inputs))]
    if len(inputs) == 1:
        return step.gradient()
    sizes = step.op("Concat", *(step.op("Shape", x, start=axis, end=axis + 1) for x in inputs), axis=0)
    return step.ops("Split", step.gradient(), sizes, outputs=len(inputs), axis=axis)


@operator("Split").gradient(18)
def split(step: BackwardStep) -> Gradients:
    axis = step.axis()
    return step.op("Concat", *(step.gradient(i) for i in range(len(step.node.outputs))), axis=axis)


@operator("Slice").gradient(13)
def slice_(step: BackwardStep) -> Gradients:
    """The gradient padded with zeros; scattered if the elements of the slice are not adjacent, or only known at run time."""
    x, margins = step.input(0), slice_margins(step)
    if margins is not None:
        return pad_with_zeros(step, step.gradient(), margins)
    positions = step.op("Slice", element_numbers(step, x), *step.node.inputs[1:])
    return scatter_elements(step, step.gradient(), positions, x)


def slice_margins(step: BackwardStep) -> dict[int, tuple[int, int]] | None:
    """The lengths before and after a slice, for each axis that it shortens; None if they are not known or its step is not 1."""
    shape, starts, ends = step.inference.shape(0), step.inference.constant(1), step.inference.constant(2)
    axes, steps = (step.inference.constant(i) if step.inference.has(i) else None for i in (3, 4))
    is_known = all(step.inference.has(i) <= (x is not None) for i, x in ((3, axes), (4, steps)))
    if shape is None or starts is None or ends is None or not is_known:
        return None
    if steps is not None and (steps != 1).any():
        return None
    margins = {}
    for start, end, axis in zip(
        starts.tolist(), ends.tolist(), range(starts.size) if axes is None else axes.tolist(), strict=True
    ):
        size = shape[axis]
        if not isinstance(size, int):
            return None
        first, last, _ = slice(start, end).indices(size)
        margins[axis % len(shape)] = (first, size - max(first, last))
    return margins


def pad_with_zeros(step: BackwardStep, x: Value, margins: Mapping[int, tuple[int, int]]) -> Value:
    """x padded with zeros; margins: the numbers of zeros before and after x, by axis."""
    axes = sorted(margins)
    pads = [margins[axis][side] for side in (0, 1) for axis in axes]
    return step.op("Pad", x, step.integers(pads), None, step.integers(axes)) if any(pads) else x


def element_numbers(step: BackwardStep, x: Value) -> Value:
    """The numbers of the elements of a tensor in row-major order, in its shape."""
    count = step.Size(x)
    return step.reshape_like(step.Range(step.integers(0), count, step.integers(1)), x)


def scatter_elements(step: BackwardStep, gradient: Value, positions: Value, x: Value) -> Value:
    """Zeros in the shape of x, with the elements of a gradient added at positions in row-major order."""
    flat = step.integers([-1])
    zeros = step.Reshape(step.zeros_like(x), flat)
    sums = step.ScatterElements(
        zeros, step.Reshape(positions, flat), step.Reshape(gradient, flat), axis=0, reduction="add"
    )
    return step.reshape_like(sums, x)


@operator("Pad").gradient(25)
def pad(step: BackwardStep) -> Gradients:
    """dx: the gradient of each element, added at the position that it was copied from; dconstant_value: the sum of the rest."""
    x, dy = step.input(0), step.gradient()
    positions = element_numbers(step, x)
    mode = step.inference.attributes["mode"]
    if mode != "constant":
        moved = step.op("Pad", positions, step.input(1), None, step.optional(3), mode=mode)
        return scatter_elements(step, dy, moved, x)
    moved = step.op("Pad", positions, step.input(1), step.integers(-1), step.optional(3))
    is_padding = step.Less(moved, step.integers(0))
    zero = step.scalar(0)
    inner = step.Where(is_padding, zero, dy)
    gradient = scatter_elements(step, inner, step.Max(moved, step.integers(0)), x)
    if not step.wants(2):
        return gradient
    total = step.op("ReduceSum", step.Where(is_padding, dy, zero), keepdims=0)
    return [gradient, None, step.reshape_like(total, step.input(2))]


@operator("Tile").gradient(13)
def tile(step: BackwardStep) -> Gradients:
    """The gradient in the shape (repeats[0], sizes[0], repeats[1], ...), summed over the repeats."""
    x, repeats = step.input(0), step.input(1)
    rank = step.rank(0)
    if not rank:
        return step.gradient()
    pairs = [step.Unsqueeze(repeats, step.integers([1])), step.Unsqueeze(step.Shape(x), step.integers([1]))]
    shape = step.Reshape(step.op("Concat", *pairs, axis=1), step.integers([-1]))
    blocks = step.op("Reshape", step.gradient(), shape, allowzero=1)
    return step.op("ReduceSum", blocks, step.integers(range(0, 2 * rank, 2)), keepdims=0)


@operator("Trilu").gradient(14)
def trilu(step: BackwardStep) -> Gradients:
    upper = step.inference.integer("upper")
    return step.op("Trilu", step.gradient(), step.optional(1), upper=upper)


@operator("DepthToSpace").gradient(28)
@operator("SpaceToDepth").gradient(28)
def permutation(step: BackwardStep) -> Gradients:
    """Operators that permute elements; applied to the numbers of the elements, they return where each element came from."""
    x = step.input(0)
    (moved,) = step.add(step.node.op_type, [element_numbers(step, x)], step.node.attributes, 1)
    return scatter_elements(step, step.gradient(), moved, x)


@operator("ReverseSequence").gradient(28)
def reverse_sequence(step: BackwardStep) -> Gradients:
    """Reversal is its own inverse."""
    batch, time = step.inference.integer("batch_axis"), step.inference.integer("time_axis")
    return step.op("ReverseSequence", step.gradient(), step.input(1), batch_axis=batch, time_axis=time)


@operator("Dropout").gradient(22)
def dropout(step: BackwardStep) -> Gradients:
    """dx: the gradient where elements were kept, scaled as they were; the gradient of the ratio r is dy * y / (1 - r)."""
    training = step.inference.constant(2) if step.inference.has(2) else np.False_
    if training is not None and not bool(training):
        return step.gradient()
    ratio = step.optional(1)
    unit = step.scalar(1)
    rate = step.scalar(0.5) if ratio is None else step.CastLike(ratio, step.input(0))
    kept = step.CastLike(step.output(1), step.input(0))
    share = step.Sub(unit, rate)
    scaled = step.Div(step.Mul(step.gradient(), kept), share)
    dx = scaled if training is not None else step.Where(step.input(2), scaled, step.gradient())
    if not step.wants(1):
        return dx
    total = step.op("ReduceSum", step.Div(step.Mul(scaled, step.input(0)), share), keepdims=0)
    slope = total if training is not None else step.Where(step.input(2), total, step.scalar(0))
    return [dx, step.CastLike(step.reshape_like(slope, step.input(1)), step.input(1))]


@decomposition("Dropout", 22)
def name_mask(step: BackwardStep) -> Sequence[Value | None] | None:
    """Gives a Dropout in training mode the output `mask`, which its gradient reads."""
    training = step.inference.constant(2) if step.inference.has(2) else np.False_
    if step.has_output(1) or (training is not None and not bool(training)):
        return None
    return step.add("Dropout", step.node.inputs, step.node.attributes, 2)[:1]
