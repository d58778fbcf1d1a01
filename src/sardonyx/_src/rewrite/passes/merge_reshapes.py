"""merge-reshapes: of nodes in a row that only give elements another shape, one Reshape stays.

Spec:    Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25,
         Transpose-1 -13 -21 -23 -24 -25, Gather-1 -11 -13
Before:  g (float[2,6] x) => (float[] y) <int64[1] s = {12}, int64[2] t = {3, 4}> { a = Reshape(x, s)  y = Reshape(a, t) }
After:   g (float[2,6] x) => (float[] y) <int64[2] t = {3, 4}> { y = Reshape(x, t) }
Keeps:   shapes with two unknown sizes; what others read in between; every bit.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.reshapes import FAMILY, is_reshape, target


@rewrite(root=FAMILY, phase="simplify")
def merge_reshapes(node: Node, edit: Edit) -> bool:
    middle = node.inputs[0] if node.inputs else None
    inner = None if middle is None else middle.producer
    if middle is None or inner is None or not edit.is_free(middle) or not is_reshape(inner, edit):
        return False
    source, graph = inner.inputs[0], node.graph
    if source is None or graph is None or not is_reshape(node, edit) or not edit.has("Reshape", graph):
        return False
    if not all(slot == 0 and is_reshape(reader, edit) for reader, slot in middle.uses):
        return False
    wanted = target(edit.shape(source), edit.shape(node.outputs[0]))
    if wanted is None:
        return False
    shape = edit.constant_of(np.array(wanted, np.int64), f"{node.outputs[0].name}_shape", before=node)
    return edit.replace(node, "Reshape", [source, shape])
