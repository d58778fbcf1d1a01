"""When a body refuses all that its operator does: bodies compute, and do not check elements as kernels do."""

from __future__ import annotations

from collections.abc import Callable

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


def has_precise_softmax(node: Node, edit: Edit) -> bool:
    """Attention in float64, or with a precision that its kernels do not have; inference compares the sizes, but not lengths and masks of few keys."""
    precision = edit.attributes(node).get("softmax_precision")
    q, mask, *others = (node.inputs[i] if i < len(node.inputs) else None for i in (0, 3, 4, 6))
    type_ = edit.type(q)
    if type_ is None or (type_.dtype is not DataType.DOUBLE and precision in (None, DataType.FLOAT)):
        return False
    if any(value is not None for value in others) or any(
        value is not None and edit.rank(value) is None for value in node.inputs
    ):
        return False
    if mask is None or edit.rank(mask) == 0:
        return True
    keys, masked = edit.shape(node.inputs[1]), edit.shape(mask)
    return bool(keys and masked and known_equal(masked[-1], keys[len(keys) - 2]))


def has_known_widths(node: Node, edit: Edit) -> bool:
    """LinearAttention: the sizes of rows are known; inference compares decay and beta with those of the heads.

    In float32 it has a kernel.
    """
    values = [*node.inputs[:3], *node.inputs[4:6]]
    types = [edit.type(value) for value in node.inputs if value is not None]
    if all(type_ is not None and type_.dtype is DataType.FLOAT for type_ in types):
        return False
    return all(value is None or is_known_width(edit, value) for value in values)


def is_known_width(edit: Edit, value: Value) -> bool:
    shape = edit.shape(value)
    return shape is not None and len(shape) == 3 and isinstance(shape[2], int)


def keeps_scores(node: Node, edit: Edit) -> bool:
    """FlexAttention: all ranks are known, and subgraphs keep type and shape of what they receive; inference compares the sizes."""
    if any(edit.rank(value) != 4 for value in node.inputs):
        return False
    for graph in node.subgraphs:
        before, after = edit.type(graph.inputs[0]), edit.type(graph.outputs[0])
        if before is None or after is None or before.dtype != after.dtype:
            return False
        if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
            return False
    return True


def known_sizes(value: Value | None, edit: Edit) -> list[Dim] | None:
    """The elements of a tensor of sizes; None unless all are known not to be negative."""
    elements = edit.elements(value)
    if elements is None:
        return None
    sizes: list[Dim] = [e if isinstance(e, Expr) or e is None else int(e) for e in elements.flat]
    return sizes if all(known_ge(size, 0) for size in sizes) else None


CONDITIONS: dict[str, Callable[[Node, Edit], bool]] = {
    "AffineGrid": has_grid_of_theta,
    "Attention": has_precise_softmax,
    "BlackmanWindow": has_known_size,
    "CenterCropPad": has_known_sizes,
    "FlexAttention": keeps_scores,
    "HammingWindow": has_known_size,
    "HannWindow": has_known_size,
    "LinearAttention": has_known_widths,
    "NegativeLogLikelihoodLoss": has_classes,
    "SoftmaxCrossEntropyLoss": has_classes,
}
