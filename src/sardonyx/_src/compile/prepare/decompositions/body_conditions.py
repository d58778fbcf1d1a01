"""Conditions under which the body of an operator may replace it: the body must reject every input that the operator rejects.

Bodies do not check elements as kernels do, so each condition makes sure that there is nothing left to check.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Dim, Expr, known_equal, known_ge
from sardonyx._src.rewrite.engine.edit import Edit

CLASS_TYPES = (DataType.INT32, DataType.INT64)


def refuses_alike(node: Node, edit: Edit) -> bool:
    """Whether the body of a node rejects all inputs that its operator rejects; may change operands of the node to that end."""
    condition = CONDITIONS.get(node.op_type)
    return condition is None or condition(node, edit)


def has_known_size(node: Node, edit: Edit) -> bool:
    """A window function: its size is known not to be negative."""
    sizes = known_sizes(node.inputs[0], edit)
    return sizes is not None and len(sizes) == 1


def has_known_sizes(node: Node, edit: Edit) -> bool:
    """CenterCropPad: all sizes are known; inference checks that there is one for each axis."""
    return edit.rank(node.inputs[0]) is not None and known_sizes(node.inputs[1], edit) is not None


def has_grid_of_theta(node: Node, edit: Edit) -> bool:
    """AffineGrid: the sizes are known."""
    sizes = known_sizes(node.inputs[1], edit)
    return edit.rank(node.inputs[0]) == 3 and sizes is not None and len(sizes) in (4, 5)


def has_classes(node: Node, edit: Edit) -> bool:
    """A classification loss: all ranks are known, and negative classes are replaced by invalid ones."""
    target = edit.type(node.inputs[1])
    if any(value is not None and edit.rank(value) is None for value in node.inputs):
        return False
    if target is None or target.dtype not in CLASS_TYPES:
        return False
    invalidate_negative_classes(node, edit, target.dtype)
    return True


def invalidate_negative_classes(node: Node, edit: Edit, dtype: DataType) -> None:
    """Replaces negative targets by the largest number that is not ignored, since the body would count them from the end."""
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
    """Attention in float64, or with a softmax precision that kernels lack, without the sequence lengths that only kernels check.

    Inference checks the sizes, except that a mask must cover all keys.
    """
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
    """LinearAttention in other types than float32, which has a kernel: the sizes of rows are known.

    Inference then compares the sizes of decay and beta with the sizes of the heads.
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
    """FlexAttention: all ranks are known, and subgraphs keep the type and rank of their input; inference compares the sizes."""
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
    """The elements of a tensor of sizes; None if one of them may be negative."""
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
