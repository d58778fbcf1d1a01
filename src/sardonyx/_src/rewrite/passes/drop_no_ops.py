"""drop-no-ops: remove nodes that return their input unchanged.

Spec:    Dropout-1 -6 -7 -10 -12 -13 -22, Cast-1 -6 -9 -13 -19 -21 -23 -24 -25 -28, CastLike-15 -19 -21 -23 -24 -25,
         Reshape-1 -5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25, Expand-8 -13, Tile-6 -13,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Transpose-1 -13 -21 -23 -24 -25,
         Pad-2 -11 -13 -18 -19 -21 -23 -24 -25, Slice-1 -10 -11 -13, Concat-1 -4 -11 -13, Split-2 -11 -13 -18,
         Sum-1 -6 -8 -13, Mean-1 -6 -8 -13, Max-1 -6 -8 -12 -13, Min-1 -6 -8 -12 -13
Before:  g (float[2,3] x) => (float[] y) { a = Transpose<perm = [0, 1]>(x)  y = Neg(a) }
After:   g (float[2,3] x) => (float[] y) { y = Neg(x) }
Keeps:   Dropout in training mode; shapes that may differ or be invalid; results exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


def has_same_type(node: Node, edit: Edit) -> bool:
    """Whether the element types of input and output are known and equal."""
    source, result = edit.type(node.inputs[0]), edit.type(node.outputs[0])
    return source is not None and result is not None and source.dtype is result.dtype


def has_same_shape(node: Node, edit: Edit) -> bool:
    """Whether input and output are known to have the same shape."""
    source, result = edit.shape(node.inputs[0]), edit.shape(node.outputs[0])
    return source is not None and source == result and None not in source


def has_same_known_shape(node: Node, edit: Edit) -> bool:
    """Whether the shape stays the same and the operands that state it are known; unknown ones may be invalid in a run."""
    return (
        edit.are_known(node.inputs[1:])
        and edit.requires_only_input_sizes(node)
        and has_same_shape(node, edit)
    )


def is_inference_dropout(node: Node, edit: Edit) -> bool:
    version = edit.version(node)
    if any(v._uses or not edit.is_internal(v) for v in node.outputs[1:]):
        return False  # something reads the mask
    if version < 7:
        return edit.attributes(node)["is_test"] == 1
    mode = node.inputs[2] if len(node.inputs) > 2 else None
    return mode is None or edit.scalar(mode) == 0


def keeps_axes(node: Node, edit: Edit) -> bool:
    perm = edit.attributes(node).get("perm")
    if isinstance(perm, tuple):
        return perm == tuple(range(len(perm)))
    return edit.rank(node.inputs[0]) in (0, 1)


def has_no_padding(node: Node, edit: Edit) -> bool:
    """Whether all counts of a Pad are zero."""
    if edit.version(node) < 11:
        counts = edit.attributes(node)["pads"]
        return isinstance(counts, tuple) and not any(counts)
    known = edit.constant(node.inputs[1])
    return known is not None and not known.any()


def slices_whole(node: Node, edit: Edit) -> bool:
    """Whether a Slice has positive steps and keeps every length."""
    steps = node.inputs[4] if len(node.inputs) > 4 else None
    known = edit.constant(steps) if steps is not None else np.ones(1)
    return known is not None and bool((known > 0).all()) and has_same_shape(node, edit)


def has_one_input(node: Node, edit: Edit) -> bool:
    return len(node.inputs) == 1


def has_one_output(node: Node, edit: Edit) -> bool:
    return len(node.outputs) == 1 and has_same_shape(node, edit)


NO_OPS: dict[str, Callable[[Node, Edit], bool]] = {
    "Dropout": is_inference_dropout,
    "Cast": has_same_type,
    "CastLike": has_same_type,
    "Transpose": keeps_axes,
    "Pad": has_no_padding,
    "Slice": slices_whole,
    "Split": has_one_output,
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"), has_same_known_shape),
    **dict.fromkeys(("Concat", "Sum", "Mean", "Max", "Min"), has_one_input),
}


@rewrite(root=tuple(NO_OPS), phase="simplify")
def drop_no_ops(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or not NO_OPS[node.op_type](node, edit):
        return False
    source: Value | None = node.inputs[0]
    if source is None or not has_same_type(node, edit) or not edit.replace_uses(node.outputs[0], source):
        return False
    edit.prune(node)
    return True
