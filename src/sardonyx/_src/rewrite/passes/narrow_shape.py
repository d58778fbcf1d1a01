"""narrow-shape: sizes in a row that are picked from a Shape are all that it gives.

Spec:    Shape-15 -19 -21 -23 -24 -25, Gather-13, Slice-13
Before:  g (float[N,M,2] x) => (int64[] y) <int64[1] i = {1}> { s = Shape(x)  y = Gather(s, i) }
After:   g (float[N,M,2] x) => (int64[] y) { y = Shape<start = 1, end = 2>(x) }
Keeps:   a single size without an axis; sizes that are not in a row; shapes that others read; every element.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.cuts import cuts_of
from sardonyx._src.rewrite.edit import Edit


@rewrite(root=("Gather", "Slice"), phase="fuse")
def narrow_shape(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs:
        return False
    whole = edit.producer(node.inputs[0], "Shape")
    if whole is None or whole.graph is not node.graph or not edit.is_read_once(whole.outputs[0]):
        return False
    attributes, rank = edit.attributes(whole), edit.rank(whole.inputs[0])
    if rank is None or attributes["start"] != 0 or attributes.get("end") is not None:
        return False
    axes = gathered(node, rank, edit) if node.op_type == "Gather" else sliced(node, rank, edit)
    if not axes or list(axes) != list(range(axes[0], axes[0] + len(axes))):
        return False
    return edit.replace(node, "Shape", whole.inputs, {"start": axes[0], "end": axes[-1] + 1})


def gathered(node: Node, rank: int, edit: Edit) -> Sequence[int]:
    """The axes whose sizes a Gather picks, counted from the front; none where they are not known."""
    indices = edit.constant(node.inputs[1])
    if indices is None or indices.ndim != 1 or not all(-rank <= axis < rank for axis in indices):
        return ()
    return [int(axis) % rank for axis in indices]


def sliced(node: Node, rank: int, edit: Edit) -> Sequence[int]:
    cut = (cuts_of(node, edit) or {}).get(0)
    if cut is None or cut.step != 1:
        return ()
    return range(*slice(cut.start, cut.end).indices(rank))
