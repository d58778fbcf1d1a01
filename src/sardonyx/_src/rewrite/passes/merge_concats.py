"""merge-concats: flatten nested Concats of one axis.

Spec:    Concat-4 -11 -13
Before:  g (float[2] x, float[2] w, float[2] z) => (float[] y) { a = Concat<axis = 0>(x, w)  y = Concat<axis = 0>(a, z) }
After:   g (float[2] x, float[2] w, float[2] z) => (float[] y) { y = Concat<axis = 0>(x, w, z) }
Keeps:   Concats of other axes; intermediate values with other uses; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="Concat", phase="simplify")
def merge_concats(node: Node, edit: Edit) -> bool:
    rank = edit.rank(node.outputs[0])
    if not edit.is_a(node, "Concat") or rank is None:
        return False
    axis = axis_of(node, rank, edit)
    inputs: list[Value | None] = []
    for value in node.inputs:
        inner = edit.producer(value, "Concat")
        inputs += inner.inputs if inner is not None and is_part(inner, node, axis, rank, edit) else [value]
    if inputs == list(node.inputs):
        return False
    edit.update(node, inputs=inputs)
    return True


def is_part(inner: Node, node: Node, axis: int, rank: int, edit: Edit) -> bool:
    """Whether a Concat has the same axis as the outer one, and the outer one is its only reader."""
    is_near = inner.graph is node.graph and edit.has_one_use(inner.outputs[0])
    return is_near and axis_of(inner, rank, edit) == axis


def axis_of(node: Node, rank: int, edit: Edit) -> int:
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    return axis % rank
