"""narrow-shape: fold a contiguous selection of dims into the start and end of Shape.

Spec:    Shape-15 -19 -21 -23 -24 -25, Gather-13, Slice-13
Before:  g (float[N,M,2] x) => (int64[] y) <int64[1] i = {1}> { s = Shape(x)  y = Gather(s, i) }
After:   g (float[N,M,2] x) => (int64[] y) { y = Shape<start = 1, end = 2>(x) }
Keeps:   scalar selections; dims that are not contiguous; shapes with other uses; every element.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.slices import slices_of


@rewrite(root=("Gather", "Slice"), phase="fuse")
def narrow_shape(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs:
        return False
    shape_node = edit.producer(node.inputs[0], "Shape")
    if (
        shape_node is None
        or shape_node.graph is not node.graph
        or not edit.has_one_use(shape_node.outputs[0])
    ):
        return False
    attributes, rank = edit.attributes(shape_node), edit.rank(shape_node.inputs[0])
    if rank is None or attributes["start"] != 0 or attributes.get("end") is not None:
        return False
    axes = gathered_axes(node, rank, edit) if node.op_type == "Gather" else sliced_axes(node, rank, edit)
    if not axes or list(axes) != list(range(axes[0], axes[0] + len(axes))):
        return False
    return edit.replace(node, "Shape", shape_node.inputs, {"start": axes[0], "end": axes[-1] + 1})


def gathered_axes(node: Node, rank: int, edit: Edit) -> Sequence[int]:
    """The nonnegative axes whose dims a Gather selects; empty if they are unknown."""
    indices = edit.constant(node.inputs[1])
    if indices is None or indices.ndim != 1 or not all(-rank <= axis < rank for axis in indices):
        return ()
    return [int(axis) % rank for axis in indices]


def sliced_axes(node: Node, rank: int, edit: Edit) -> Sequence[int]:
    axis_slice = (slices_of(node, edit) or {}).get(0)
    if axis_slice is None or axis_slice.step != 1:
        return ()
    return range(*slice(axis_slice.start, axis_slice.end).indices(rank))
