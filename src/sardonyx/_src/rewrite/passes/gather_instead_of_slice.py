"""gather-instead-of-slice: a Slice of one entry whose axis is dropped behind it becomes a Gather of that entry.

Spec:    Slice-1 -10 -11 -13, Squeeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Gather-11 -13
Before:  g (float[2,3] x) => (float[] y) <int64[1] o = {1}, int64[1] e = {2}> { a = Slice(x, o, e, o)  y = Squeeze(a, o) }
After:   g (float[2,3] x) => (float[] y) <int64 i = {1}> { y = Gather<axis = 1>(x, i) }
Keeps:   slices of more entries, or of none; slices that others read; every bit.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.axis_lists import axes_of
from sardonyx._src.rewrite.cuts import cuts_of
from sardonyx._src.rewrite.edit import Edit

FAR = 1 << 31  # an end from here on means the last entry


@rewrite(root=("Squeeze", "Reshape"), phase="fuse")
def gather_instead_of_slice(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or node.graph is None:
        return False
    cut, graph = edit.producer(node.inputs[0], "Slice"), node.graph
    if cut is None or cut.graph is not graph or not edit.has("Gather", graph):
        return False
    found = entry(cut, edit)
    if found is None or not edit.is_read_once(cut.outputs[0]) or not drops(node, cut, found[0], edit):
        return False
    axis, index = found
    constant = edit.constant_of(np.array(index, np.int64), f"{node.outputs[0].name}_index", before=node)
    return edit.replace(node, "Gather", [cut.inputs[0], constant], {"axis": axis})


def entry(cut: Node, edit: Edit) -> tuple[int, int] | None:
    """The axis and the one entry of it that a Slice takes; None where it takes others, or may find none there."""
    shape, cuts = edit.shape(cut.inputs[0]), cuts_of(cut, edit)
    if shape is None or cuts is None or len(cuts) != 1:
        return None
    ((axis, one),) = cuts.items()
    size = shape[axis]
    if isinstance(size, int):
        start, end, _ = slice(one.start, one.end).indices(size)
        return (axis, start) if end - start == 1 and one.step == 1 else None
    last = one.start == -1 and one.end >= FAR
    inner = one.end == one.start + 1 and one.end != 0
    return (axis, one.start) if one.step == 1 and (last or inner) else None


def drops(node: Node, cut: Node, axis: int, edit: Edit) -> bool:
    """Whether a node does no more than to drop the axis, or fails where that has not one entry."""
    shape = edit.shape(cut.inputs[0])
    assert shape is not None, "an entry is found in a shape"
    if node.op_type == "Squeeze":
        axes = axes_of(node, len(shape), edit)
        if axes:
            return axes == (axis,)
    rest, made = [size for i, size in enumerate(shape) if i != axis], edit.shape(node.outputs[0])
    is_one = edit.shape(cut.outputs[0]) is not None and isinstance(shape[axis], int)
    return is_one and None not in rest and made is not None and list(made) == rest
