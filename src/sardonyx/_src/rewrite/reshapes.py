"""Nodes that leave the elements of a tensor in their order, and the constant shape of a Reshape that does the same."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.edit import Edit

FAMILY = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Gather")


def is_reshape(node: Node, edit: Edit) -> bool:
    """Whether a node leaves the elements of its first input in their order."""
    if node.op_type not in FAMILY or not edit.is_a(node, node.op_type) or not node.inputs:
        return False
    if node.op_type == "Transpose":
        return keeps_order(node, edit)
    return node.op_type != "Gather" or takes_all(node, edit)


def keeps_order(node: Node, edit: Edit) -> bool:
    """Whether a Transpose moves axes of length 1 alone."""
    shape = edit.shape(node.inputs[0])
    if shape is None:
        return False
    perm = edit.attributes(node).get("perm")
    axes = perm if isinstance(perm, tuple) else tuple(reversed(range(len(shape))))
    if sorted(axes) != list(range(len(shape))):
        return False  # the run will say so
    moved = [axis for axis in axes if shape[axis] != 1]
    return moved == sorted(moved)


def takes_all(node: Node, edit: Edit) -> bool:
    """Whether a Gather takes the one entry of an axis of length 1, once."""
    shape, indices = edit.shape(node.inputs[0]), edit.constant(node.inputs[1])
    axis = edit.attributes(node)["axis"]
    if shape is None or indices is None or indices.size != 1 or not isinstance(axis, int):
        return False
    return -len(shape) <= axis < len(shape) and shape[axis] == 1 and int(indices.reshape(())) in (0, -1)


def target(given: Sequence[Dim] | None, made: Sequence[Dim] | None) -> list[int] | None:
    """A constant shape for a Reshape: numbers, 0 for a size at the place where it was, at most one -1."""
    if made is None or given is None or 0 in made:
        return None
    result: list[int] = []
    for i, size in enumerate(made):
        if isinstance(size, int):
            result.append(size)
        elif size is not None and i < len(given) and given[i] == size:
            result.append(0)
        else:
            result.append(-1)
    unclear = result.count(-1) > 1 or (-1 in result and 0 in result)
    return None if unclear else result
