"""merge-reshapes: fuse successive nodes that only reshape into one Reshape.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25,
         Transpose-1 -13 -21 -23 -24 -25, Gather-1 -11 -13
Before:  g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> { a = Reshape(x, s)  y = Reshape(a, t) }
After:   g (float[2,6] x) => (float[] y) <int64[2] t = {3, 4}> { y = Reshape(x, t) }
Keeps:   shapes with two unknown dims; intermediate values with other uses; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.reshapes import is_reshape, reshape_target


@rewrite(root=("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Gather"), phase="simplify")
def merge_reshapes(node: Node, edit: Edit) -> bool:
    middle = node.inputs[0] if node.inputs else None
    inner = None if middle is None else middle.producer
    if middle is None or inner is None or not edit.is_internal(middle) or not is_reshape(inner, edit):
        return False
    source, graph = inner.inputs[0], node.graph
    if source is None or graph is None or not is_reshape(node, edit) or not edit.can_insert("Reshape", graph):
        return False
    if not all(slot == 0 and is_reshape(reader, edit) for reader, slot in middle.uses):
        return False
    new_shape = reshape_target(edit.shape(source), edit.shape(node.outputs[0]))
    if new_shape is None:
        return False
    shape = edit.make_constant(np.array(new_shape, np.int64), f"{node.outputs[0].name}_shape", before=node)
    return edit.replace(node, "Reshape", [source, shape])
