"""drop-no-ops: a node that hands its input on as it is goes.

Spec:    Dropout-1 -6 -7 -10 -12 -13 -22, Cast-1 -6 -9 -13 -19 -21 -23 -24 -25 -28, CastLike-15 -19 -21 -23 -24 -25,
         Reshape-1 -5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25, Expand-8 -13, Tile-6 -13,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Transpose-1 -13 -21 -23 -24 -25,
         Pad-2 -11 -13 -18 -19 -21 -23 -24 -25, Slice-1 -10 -11 -13, Concat-1 -4 -11 -13, Split-2 -11 -13 -18,
         Sum-1 -6 -8 -13, Mean-1 -6 -8 -13, Max-1 -6 -8 -12 -13, Min-1 -6 -8 -12 -13
Before:  g (float[2,3] x) => (float[] y) { a = Transpose<perm = [0, 1]>(x)  y = Neg(a) }
After:   g (float[2,3] x) => (float[] y) { y = Neg(x) }
Keeps:   what trains; sizes that may differ; every bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit


def same_type(node: Node, edit: Edit) -> bool:
    """Whether element types of input and output are known and equal."""
    given, made = edit.type(node.inputs[0]), edit.type(node.outputs[0])
    return given is not None and made is not None and given.dtype is made.dtype


def same_shape(node: Node, edit: Edit) -> bool:
    """Whether input and output are known to have one shape; elements that keep their order are then the same."""
    given, made = edit.shape(node.inputs[0]), edit.shape(node.outputs[0])
    return given is not None and given == made and None not in given


def does_not_train(node: Node, edit: Edit) -> bool:
    version = edit.version(node)
    if any(v._uses or not edit.is_free(v) for v in node.outputs[1:]):
        return False  # the mask is read
    if version < 7:
        return edit.attributes(node)["is_test"] == 1
    mode = node.inputs[2] if len(node.inputs) > 2 else None
    return mode is None or edit.scalar(mode) == 0


def keeps_axes(node: Node, edit: Edit) -> bool:
    perm = edit.attributes(node).get("perm")
    if isinstance(perm, tuple):
        return perm == tuple(range(len(perm)))
    return edit.rank(node.inputs[0]) in (0, 1)


def adds_nothing(node: Node, edit: Edit) -> bool:
    """Whether all counts of a Pad are zero."""
    if edit.version(node) < 11:
        counts = edit.attributes(node)["pads"]
        return isinstance(counts, tuple) and not any(counts)
    known = edit.constant(node.inputs[1])
    return known is not None and not known.any()


def cuts_nothing(node: Node, edit: Edit) -> bool:
    """Whether a Slice goes forward and leaves every size as it is."""
    steps = node.inputs[4] if len(node.inputs) > 4 else None
    known = edit.constant(steps) if steps is not None else np.ones(1)
    return known is not None and bool((known > 0).all()) and same_shape(node, edit)


def has_one_input(node: Node, edit: Edit) -> bool:
    return len(node.inputs) == 1


def has_one_output(node: Node, edit: Edit) -> bool:
    return len(node.outputs) == 1 and same_shape(node, edit)


NO_OPS: dict[str, Callable[[Node, Edit], bool]] = {
    "Dropout": does_not_train,
    "Cast": same_type,
    "CastLike": same_type,
    "Transpose": keeps_axes,
    "Pad": adds_nothing,
    "Slice": cuts_nothing,
    "Split": has_one_output,
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"), same_shape),
    **dict.fromkeys(("Concat", "Sum", "Mean", "Max", "Min"), has_one_input),
}


@rewrite(root=tuple(NO_OPS), phase="simplify")
def drop_no_ops(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or not NO_OPS[node.op_type](node, edit):
        return False
    source: Value | None = node.inputs[0]
    if source is None or not same_type(node, edit) or not edit.forward(node.outputs[0], source):
        return False
    edit.prune(node)
    return True
