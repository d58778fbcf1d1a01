"""gather-instead-of-slice: replace a Slice of one entry, whose axis is then removed, by a Gather.

Spec:    Slice-1 -10 -11 -13, Squeeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Gather-11 -13
Before:  g (float[2,3] x) => (float[] y) <int64[1] o = {1}, int64[1] e = {2}> { a = Slice(x, o, e, o)  y = Squeeze(a, o) }
After:   g (float[2,3] x) => (float[] y) <int64 i = {1}> { y = Gather<axis = 1>(x, i) }
Keeps:   slices of more entries, or of none; slices with other uses; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import axes_of
from sardonyx._src.rewrite.support.slices import slices_of

UNBOUNDED_END = 1 << 31  # an end at least this large means the end of the axis


@rewrite(root=("Squeeze", "Reshape"), phase="fuse")
def gather_instead_of_slice(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or node.graph is None:
        return False
    slice_node, graph = edit.producer(node.inputs[0], "Slice"), node.graph
    if slice_node is None or slice_node.graph is not graph or not edit.can_insert("Gather", graph):
        return False
    taken = entry(slice_node, edit)
    if (
        taken is None
        or not edit.has_one_use(slice_node.outputs[0])
        or not drops_axis(node, slice_node, taken[0], edit)
    ):
        return False
    axis, index = taken
    constant = edit.make_constant(np.array(index, np.int64), f"{node.outputs[0].name}_index", before=node)
    return edit.replace(node, "Gather", [slice_node.inputs[0], constant], {"axis": axis})


def entry(slice_node: Node, edit: Edit) -> tuple[int, int] | None:
    """The axis and index of a Slice of one entry; None for a Slice of more entries, or possibly of none."""
    shape, slices = edit.shape(slice_node.inputs[0]), slices_of(slice_node, edit)
    if shape is None or slices is None or len(slices) != 1:
        return None
    ((axis, taken),) = slices.items()
    size = shape[axis]
    if isinstance(size, int):
        start, end, _ = slice(taken.start, taken.end).indices(size)
        return (axis, start) if end - start == 1 and taken.step == 1 else None
    last = taken.start == -1 and taken.end >= UNBOUNDED_END
    inner = taken.end == taken.start + 1 and taken.end != 0
    return (axis, taken.start) if taken.step == 1 and (last or inner) else None


def drops_axis(node: Node, slice_node: Node, axis: int, edit: Edit) -> bool:
    """Whether a node removes only this axis; it may be one that fails if the length of the axis is not 1."""
    shape = edit.shape(slice_node.inputs[0])
    assert shape is not None, "the slice has a known input shape"
    if node.op_type == "Squeeze":
        axes = axes_of(node, len(shape), edit)
        if axes:
            return axes == (axis,)
    rest, result_shape = [size for i, size in enumerate(shape) if i != axis], edit.shape(node.outputs[0])
    is_one = edit.shape(slice_node.outputs[0]) is not None and isinstance(shape[axis], int)
    return is_one and None not in rest and result_shape is not None and list(result_shape) == rest
