"""fuse-rotary-embedding: fold the Gather of angles by position into RotaryEmbedding.

Spec:    Gather-1 -11 -13, RotaryEmbedding-23
Before:  g (float[1,2,3,4] x, int64[1,3] p) => (float[] y) <float[2,2] c = {1, 2, 3, 4}, float[2,2] s = {5, 6, 7, 8}> {
           a = Gather(c, p)  b = Gather(s, p)  y = RotaryEmbedding(x, a, b)
         }
After:   g (float[1,2,3,4] x, int64[1,3] p) => (float[] y) <float[2,2] c = {1, 2, 3, 4}, float[2,2] s = {5, 6, 7, 8}> {
           y = RotaryEmbedding(x, c, s, p)
         }
Keeps:   gathered angles with other uses; results exactly.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="RotaryEmbedding", phase="fuse")
def fuse_rotary_embedding(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "RotaryEmbedding") or len(node.inputs) != 3:
        return False
    cos, sin = (picker(value, edit) for value in node.inputs[1:])
    if cos is None or sin is None or cos.inputs[1] is not sin.inputs[1]:
        return False
    edit.update(node, inputs=[node.inputs[0], cos.inputs[0], sin.inputs[0], cos.inputs[1]])
    return True


def picker(value: Value | None, edit: Edit) -> Node | None:
    """The Gather that selects rows of angles by position, if only RotaryEmbedding nodes read its result."""
    node = edit.producer(value, "Gather")
    if (
        node is None
        or value is None
        or not edit.is_internal(value)
        or edit.attributes(node)["axis"] not in (0, -2)
    ):
        return None
    positions = edit.type(node.inputs[1])
    if edit.rank(node.inputs[0]) != 2 or edit.rank(node.inputs[1]) != 2 or positions is None:
        return None
    if positions.dtype is not DataType.INT64:
        return None
    angles = all(
        edit.is_a(r, "RotaryEmbedding") and len(r.inputs) == 3 and slot in (1, 2) for r, slot in value.uses
    )
    return node if angles else None
