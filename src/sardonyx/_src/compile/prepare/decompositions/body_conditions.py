"""When a body refuses all that its operator does: bodies compute, and do not check sizes and elements as kernels do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, Expr, known_equal, known_ge
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
    """AffineGrid: the sizes are known, and are those that theta is for."""
    theta, sizes = edit.shape(node.inputs[0]), known_sizes(node.inputs[1], edit)
    if theta is None or sizes is None or len(sizes) not in (4, 5):
        return False
    axes = len(sizes) - 2
    return are_equal(theta, (sizes[0], axes, axes + 1))


def has_classes(node: Node, edit: Edit) -> bool:
    """A loss of classes: targets and weights have the shapes that the scores ask for; negative classes are made invalid."""
    scores, target = edit.shape(node.inputs[0]), node.inputs[1]
    classes, type = edit.shape(target), edit.type(target)
    if scores is None or len(scores) < 2 or classes is None or type is None or type.dtype not in CLASS_TYPES:
        return False
    weight = node.inputs[2] if len(node.inputs) > 2 else None
    weights = edit.shape(weight)
    if not are_equal(classes, (scores[0], *scores[2:])):
        return False
    if weight is not None and (weights is None or not are_equal(weights, scores[1:2])):
        return False
    invalidate_negative_classes(node, edit, type.dtype)
    return True


def invalidate_negative_classes(node: Node, edit: Edit, dtype: DataType) -> None:
    """Replaces negative targets by the largest number: the body would count classes from the back."""
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
    classes = edit.make("Where", [invalid, constant(int(ends.max)), target], before=node).outputs[0]
    edit.update(node, inputs=[node.inputs[0], classes, *node.inputs[2:]])


def known_sizes(value: Value | None, edit: Edit) -> list[Dim] | None:
    """The elements of a tensor of sizes; None unless all are known not to be negative."""
    elements = edit.elements(value)
    if elements is None:
        return None
    sizes: list[Dim] = [e if isinstance(e, Expr) or e is None else int(e) for e in elements.flat]
    return sizes if all(known_ge(size, 0) for size in sizes) else None


def are_equal(shape: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Whether two shapes are equal in every run."""
    return len(shape) == len(other) and all(
        known_equal(a, b) is True for a, b in zip(shape, other, strict=True)
    )


CONDITIONS: dict[str, Callable[[Node, Edit], bool]] = {
    "AffineGrid": has_grid_of_theta,
    "BlackmanWindow": has_known_size,
    "CenterCropPad": has_known_sizes,
    "HammingWindow": has_known_size,
    "HannWindow": has_known_size,
    "NegativeLogLikelihoodLoss": has_classes,
    "SoftmaxCrossEntropyLoss": has_classes,
}
