"""When a body refuses all that its operator does: bodies compute, and do not check elements as kernels do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, Expr, known_ge
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit

CLASS_TYPES = (DataType.INT32, DataType.INT64)


def refuses_alike(node: Node, edit: Edit) -> bool:
    """Whether the body of a node refuses what the operator does; it may change the operands of the node to that end."""
    condition = CONDITIONS.get(node.op_type)
    return condition is None or condition(node, edit)


def has_known_size(node: Node, edit: Edit) -> bool:
    """A window: its size is known not to be negative."""
    sizes = known_sizes(node.inputs[0], edit)
    return sizes is not None and len(sizes) == 1


def has_known_sizes(node: Node, edit: Edit) -> bool:
    """CenterCropPad: all sizes are known, one per axis; inference compares their number with that of the axes."""
    return edit.rank(node.inputs[0]) is not None and known_sizes(node.inputs[1], edit) is not None


def has_grid_of_theta(node: Node, edit: Edit) -> bool:
    """AffineGrid: the sizes are known."""
    sizes = known_sizes(node.inputs[1], edit)
    return edit.rank(node.inputs[0]) == 3 and sizes is not None and len(sizes) in (4, 5)


def has_classes(node: Node, edit: Edit) -> bool:
    """A loss of classes: all ranks are known; negative classes are made invalid."""
    target = edit.type(node.inputs[1])
    if any(value is not None and edit.rank(value) is None for value in node.inputs):
        return False
    if target is None or target.dtype not in CLASS_TYPES:
        return False
    invalidate_negative_classes(node, edit, target.dtype)
    return True


def invalidate_negative_classes(node: Node, edit: Edit, dtype: DataType) -> None:
    """Replaces negative targets by the largest number that is not ignored: the body would count classes from the back."""
    target = node.inputs[1]
    ignored = edit.attributes(node).get("ignore_index")

    def constant(number: int) -> Value:
        return edit.make_constant(np.array(number, dtype.numpy), f"{node.name}/class", before=node)

    ends = np.iinfo(dtype.numpy)
    invalid = edit.make("Less", [target, constant(0)], before=node).outputs[0]
    if isinstance(ignored, int) and ends.min <= ignored < 0:
        is_ignored = edit.make("Equal", [target, constant(ignored)], before=node).outputs[0]
        is_counted = edit.make("Not", [is_ignored], before=node).outputs[0]
        invalid = edit.make("And", [invalid, is_counted], before=node).outputs[0]
    largest = int(ends.max) - (ignored == ends.max)
    classes = edit.make("Where", [invalid, constant(largest), target], before=node).outputs[0]
    edit.update(node, inputs=[node.inputs[0], classes, *node.inputs[2:]])


def known_sizes(value: Value | None, edit: Edit) -> list[Dim] | None:
    """The elements of a tensor of sizes; None unless all are known not to be negative."""
    elements = edit.elements(value)
    if elements is None:
        return None
    sizes: list[Dim] = [e if isinstance(e, Expr) or e is None else int(e) for e in elements.flat]
    return sizes if all(known_ge(size, 0) for size in sizes) else None


CONDITIONS: dict[str, Callable[[Node, Edit], bool]] = {
    "AffineGrid": has_grid_of_theta,
    "BlackmanWindow": has_known_size,
    "CenterCropPad": has_known_sizes,
    "HammingWindow": has_known_size,
    "HannWindow": has_known_size,
    "NegativeLogLikelihoodLoss": has_classes,
    "SoftmaxCrossEntropyLoss": has_classes,
}
