"""reshape-before-labels: reshape the indices of a Gather from a constant vector of strings, instead of the strings.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Gather-1 -11 -13
Before:  g (int64[N,1] i) => (string[] y) <string[2] w = {"a", "b"}, int64[1] s = {-1}> { a = Gather(w, i)  y = Reshape(a, s) }
After:   g (int64[N,1] i) => (string[] y) <string[2] w = {"a", "b"}, int64[1] s = {-1}> { a = Reshape(i, s)  y = Gather(w, a) }
Keeps:   selected strings with other uses; results exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="Reshape", phase="simplify")
def reshape_before_labels(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Reshape") or len(node.inputs) < 2 or node.inputs[0] is None:
        return False
    gather = edit.producer(node.inputs[0], "Gather")
    if gather is None or gather.graph is not node.graph or not edit.has_one_use(node.inputs[0]):
        return False
    labels = edit.tensor(gather.inputs[0])
    if labels is None or labels.dtype is not DataType.STRING or not is_row(labels.shape, gather, edit):
        return False
    table = gather.inputs[0]
    if len(labels.shape) > 1:
        shape = edit.constant(node.inputs[1])
        if shape is None or not shape.all():
            return False  # a 0 copies a length of what is reshaped, which has fewer axes
        table = edit.make_constant(labels.numpy().reshape(-1), "labels", before=node)
    indices = edit.make("Reshape", [gather.inputs[1], node.inputs[1]], dict(node.attributes), before=node)
    return edit.replace(node, "Gather", [table, indices.outputs[0]])


def is_row(shape: Sequence[int], gather: Node, edit: Edit) -> bool:
    """Whether a Gather selects along the only axis of constant labels that may be longer than 1."""
    axis = edit.attributes(gather)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    return bool(shape) and all(n == 1 or i == axis % len(shape) for i, n in enumerate(shape))
