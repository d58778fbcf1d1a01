"""The slices of a Slice node by axis."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class AxisSlice:
    """The start, end and step of one axis, as the node states them."""

    start: int
    end: int
    step: int


def slices_of(node: Node, edit: Edit) -> Mapping[int, AxisSlice] | None:
    """The slices of a Slice node by nonnegative axis; None if one of its numbers is unknown."""
    rank = edit.rank(node.inputs[0])
    starts, ends = slice_numbers(node, 0, edit), slice_numbers(node, 1, edit)
    if rank is None or starts is None or ends is None:
        return None
    axes = slice_numbers(node, 2, edit) if has_slice_input(node, 2, edit) else tuple(range(len(starts)))
    steps = slice_numbers(node, 3, edit) if has_slice_input(node, 3, edit) else (1,) * len(starts)
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    if not all(-rank <= axis < rank for axis in axes):
        return None
    rows = zip(axes, starts, ends, steps, strict=True)
    slices = {axis % rank: AxisSlice(start, end, step) for axis, start, end, step in rows}
    return slices if len(slices) == len(axes) else None


def has_slice_input(node: Node, i: int, edit: Edit) -> bool:
    """Whether a Slice has its i-th parameter: starts, ends, axes or steps."""
    if edit.version(node) == 1:
        return ("starts", "ends", "axes", "steps")[i] in node.attributes
    return i + 1 < len(node.inputs) and node.inputs[i + 1] is not None


def slice_numbers(node: Node, i: int, edit: Edit) -> tuple[int, ...] | None:
    """The i-th parameter (starts, ends, axes or steps), from an attribute in version 1, else from a constant input."""
    if edit.version(node) == 1:
        attribute = edit.attributes(node).get(("starts", "ends", "axes", "steps")[i])
        return tuple(int(n) for n in attribute) if isinstance(attribute, tuple) else None
    data = edit.constant(node.inputs[i + 1] if i + 1 < len(node.inputs) else None)
    return None if data is None else tuple(int(n) for n in data.reshape(-1))
