"""fuse-slices: fuse successive Slices of different axes.

Spec:    Slice-1 -10 -11 -13
Before:  g (float[4,4] x) => (float[] y) <int64[1] o = {0}, int64[1] e = {1}> { a = Slice(x, o, e, o)  y = Slice(a, o, e, e) }
After:   g (float[4,4] x) => (float[] y) <int64[2] o = {0, 0}, int64[2] e = {1, 1}, int64[2] k = {0, 1}, int64[2] s = {1, 1}> {
           y = Slice(x, o, e, k, s)
         }
Keeps:   two slices of one axis; intermediate values with other uses; results exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.slices import AxisSlice, slices_of


@rewrite(root="Slice", phase="fuse")
def fuse_slices(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Slice") or node.inputs[0] is None:
        return False
    inner = edit.producer(node.inputs[0], "Slice")
    if inner is None or inner.graph is not node.graph or not edit.has_one_use(node.inputs[0]):
        return False
    first, second = slices_of(inner, edit), slices_of(node, edit)
    if first is None or second is None or first.keys() & second.keys():
        return False
    return emit_slice(node, inner, {**first, **second}, edit)


def emit_slice(node: Node, inner: Node, slices: Mapping[int, AxisSlice], edit: Edit) -> bool:
    rows = {
        "starts": [axis_slice.start for axis_slice in slices.values()],
        "ends": [axis_slice.end for axis_slice in slices.values()],
        "axes": list(slices),
        "steps": [axis_slice.step for axis_slice in slices.values()],
    }
    if edit.version(node) == 1:
        del rows["steps"]
        return edit.replace(node, "Slice", inner.inputs, rows)
    stem = node.name or node.outputs[0].name
    constants = [
        edit.make_constant(np.array(row, np.int64), f"{stem}/{name}", before=node)
        for name, row in rows.items()
    ]
    return edit.replace(node, "Slice", [inner.inputs[0], *constants])
