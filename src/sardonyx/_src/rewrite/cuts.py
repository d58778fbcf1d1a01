"""What a Slice cuts out, axis by axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.edit import Edit


@dataclass(frozen=True, slots=True)
class Cut:
    """Entries from start to end, as the node says them."""

    start: int
    end: int
    step: int


def cuts_of(node: Node, edit: Edit) -> Mapping[int, Cut] | None:
    """The cuts of a Slice by axis, counted from the front; None where one of its numbers is not known."""
    rank = edit.rank(node.inputs[0])
    starts, ends = numbers(node, 0, edit), numbers(node, 1, edit)
    if rank is None or starts is None or ends is None:
        return None
    axes = numbers(node, 2, edit) if is_given(node, 2, edit) else tuple(range(len(starts)))
    steps = numbers(node, 3, edit) if is_given(node, 3, edit) else (1,) * len(starts)
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    if not all(-rank <= axis < rank for axis in axes):
        return None
    rows = zip(axes, starts, ends, steps, strict=True)
    found = {axis % rank: Cut(start, end, step) for axis, start, end, step in rows}
    return found if len(found) == len(axes) else None


def is_given(node: Node, i: int, edit: Edit) -> bool:
    """Whether a node has starts, ends, axes or steps, in this order."""
    if edit.version(node) == 1:
        return ("starts", "ends", "axes", "steps")[i] in node.attributes
    return i + 1 < len(node.inputs) and node.inputs[i + 1] is not None


def numbers(node: Node, i: int, edit: Edit) -> tuple[int, ...] | None:
    """Starts, ends, axes or steps, from an attribute in version 1, else from a constant input."""
    if edit.version(node) == 1:
        found = edit.attributes(node).get(("starts", "ends", "axes", "steps")[i])
        return tuple(int(n) for n in found) if isinstance(found, tuple) else None
    known = edit.constant(node.inputs[i + 1] if i + 1 < len(node.inputs) else None)
    return None if known is None else tuple(int(n) for n in known.reshape(-1))
