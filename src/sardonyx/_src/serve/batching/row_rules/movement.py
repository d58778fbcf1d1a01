"""Operators that move or copy elements: the batch axis of the result follows from the movement."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.serve.batching.row_step import (
    CONSTANT,
    FILL_RULES,
    MIXED,
    ROW_COUNT,
    RowAxis,
    RowStep,
    is_equal_product,
    normalized,
    row_rule,
)


@row_rule("Transpose")
def transpose(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None:
        return MIXED
    return (step.integers("perm") or tuple(reversed(range(rank)))).index(batch)


@row_rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(step: RowStep) -> RowAxis:
    """The axis that depends on the number of rows, if the product of the dims before it is the same as in the input."""
    batch, before, after = step.batched(0), step.shape(0), step.output_shape()
    axis = step.row_axis_of(after)
    if batch is None or before is None or after is None or axis is None or step.row_axis_of(before) != batch:
        return MIXED
    return axis if is_equal_product(before[:batch], after[:axis]) else MIXED


@row_rule("Concat")
def concat(step: RowStep) -> RowAxis:
    axes, rank = {step.axis(i) for i in range(len(step.node.inputs))}, step.rank(0)
    batch = axes.pop()
    if axes or not isinstance(batch, int) or rank is None:
        return MIXED
    return MIXED if normalized(step.integer("axis", 0), rank) == batch else batch


@row_rule("Split")
def split(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or not step.is_constant(1):
        return MIXED
    return MIXED if normalized(step.integer("axis", 0), rank) == batch else batch


@row_rule("Slice")
def slice_(step: RowStep) -> RowAxis:
    batch, rank, starts = step.batched(0), step.rank(0), step.shape(1)
    if batch is None or rank is None or not starts or not step.is_constant(1, 2, 3, 4):
        return MIXED
    axes: Sequence[int] | None = step.constant_integers(3)
    if axes == () and isinstance(starts[0], int):
        axes = range(starts[0])
    if axes is None:
        return MIXED
    return MIXED if batch in {normalized(axis, rank) for axis in axes} else batch


@row_rule("Pad")
def pad(step: RowStep) -> RowAxis:
    batch, rank, pads = step.batched(0), step.rank(0), step.constant_integers(1)
    if batch is None or rank is None or not pads or not step.is_constant(2):
        return MIXED
    axes = [normalized(axis, rank) for axis in step.constant_integers(3) or range(rank)]
    if step.has(3) and not step.constant_integers(3):
        return MIXED
    moves = (axis == batch and (pads[i] or pads[i + len(axes)]) for i, axis in enumerate(axes))
    return MIXED if any(moves) else batch


@row_rule("Tile")
def tile(step: RowStep) -> RowAxis:
    batch, repeats = step.batched(0), step.constant_integers(1)
    return batch if batch is not None and repeats and repeats[batch] == 1 else MIXED


@row_rule("Expand")
def expand(step: RowStep) -> RowAxis:
    """Rows may be repeated along other axes than the batch axis."""
    batch, before, after = step.batched(0), step.shape(0), step.output_shape()
    if batch is None or before is None or after is None or step.axis(1) not in (CONSTANT, ROW_COUNT):
        return MIXED
    axis = batch + len(after) - len(before)
    return (
        axis
        if step.row_axis_of(after) == axis and is_equal_product([before[batch]], [after[axis]])
        else MIXED
    )


@row_rule("ConstantOfShape", table=FILL_RULES)
def constant_of_shape(step: RowStep) -> RowAxis:
    axis = step.row_axis_of(step.output_shape())
    return ROW_COUNT if axis is None else axis


@row_rule("Expand", table=FILL_RULES)
def expand_constant(step: RowStep) -> RowAxis:
    """A constant that is repeated along an axis with the number of rows has equal rows."""
    after = step.output_shape()
    axis = step.row_axis_of(after)
    if axis is None or after is None or not step.is_constant(0):
        return ROW_COUNT
    return axis if step.has_extent_1(0, len(after) - axis) else ROW_COUNT


@row_rule("Gather")
def gather(step: RowStep) -> RowAxis:
    """Either each row has indices into constant data, as in an embedding; or constant indices select along another axis."""
    rank, indices = step.rank(0), step.rank(1)
    if rank is None or indices is None:
        return MIXED
    axis = normalized(step.integer("axis", 0), rank)
    data, rows = step.axis(0), step.axis(1)
    if data is CONSTANT and isinstance(rows, int):
        return axis + rows
    if rows is not CONSTANT or not isinstance(data, int) or data == axis:
        return MIXED
    return data if data < axis else data + indices - 1


@row_rule("GatherElements")
def gather_elements(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or step.axis(1) != batch:
        return MIXED
    return MIXED if normalized(step.integer("axis", 0), rank) == batch else batch


@row_rule("GatherND")
def gather_nd(step: RowStep) -> RowAxis:
    """The indices of each row must select from the same row of the data (`batch_dims`)."""
    is_by_row = step.integer("batch_dims", 0) > 0 and step.axis(0) == step.axis(1) == 0
    return 0 if is_by_row else MIXED


@row_rule("ScatterElements")
def scatter_elements(step: RowStep) -> RowAxis:
    return gather_elements(step) if step.axis(0) == step.axis(2) else MIXED


@row_rule("OneHot")
def one_hot(step: RowStep) -> RowAxis:
    batch, rank = step.batched(0), step.rank(0)
    if batch is None or rank is None or not step.is_constant(1, 2):
        return MIXED
    axis = normalized(step.integer("axis", -1), rank + 1)
    return batch if batch < axis else batch + 1
