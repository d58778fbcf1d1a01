"""Nodes that preserve the order of elements, and the constant shape of an equivalent Reshape."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.engine.edit import Edit


def is_reshape(node: Node, edit: Edit) -> bool:
    """Whether a node only reshapes its first input: it keeps the order of the elements.

    The operands that state the shape must be known, so that no run can state another or an invalid one.
    """
    if not (edit.are_known(node.inputs[1:]) and edit.requires_only_input_sizes(node)):
        return False
    operator = edit.operator_of(node) if node.inputs and edit.is_a(node, node.op_type, node.domain) else None
    match operator.op.keeps_order if operator is not None else None:
        case "always":
            return True
        case "permutation":
            return keeps_order(node, edit)
        case "gather":
            return gathers_whole_axis(node, edit)
    return False


def keeps_order(node: Node, edit: Edit) -> bool:
    """Whether a Transpose moves only axes of length 1."""
    shape = edit.shape(node.inputs[0])
    if shape is None:
        return False
    perm = edit.attributes(node).get("perm")
    axes = perm if isinstance(perm, tuple) else tuple(reversed(range(len(shape))))
    if sorted(axes) != list(range(len(shape))):
        return False  # the permutation is invalid, which the run reports
    non_unit = [axis for axis in axes if shape[axis] != 1]
    return non_unit == sorted(non_unit)


def gathers_whole_axis(node: Node, edit: Edit) -> bool:
    """Whether a Gather takes the only entry of an axis of length 1, once."""
    shape, indices = edit.shape(node.inputs[0]), edit.constant(node.inputs[1])
    axis = edit.attributes(node)["axis"]
    if shape is None or indices is None or indices.size != 1 or not isinstance(axis, int):
        return False
    return -len(shape) <= axis < len(shape) and shape[axis] == 1 and int(indices.reshape(())) in (0, -1)


def reshape_target(source: Sequence[Dim] | None, shape: Sequence[Dim] | None) -> list[int] | None:
    """A constant Reshape shape: numbers, 0 for a dim that keeps its axis, at most one -1; None if there is none."""
    if shape is None or source is None or 0 in shape:
        return None
    result: list[int] = []
    for i, size in enumerate(shape):
        if isinstance(size, int):
            result.append(size)
        elif size is not None and i < len(source) and source[i] == size:
            result.append(0)
        else:
            result.append(-1)
    unclear = result.count(-1) > 1 or (-1 in result and 0 in result)
    return None if unclear else result
