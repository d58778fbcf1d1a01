"""gather-before-reshape: entries of an axis are picked before a tensor gets another shape, where another Reshape follows.

Spec:    Gather-1 -11 -13, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Transpose-1 -13 -21 -23 -24 -25
Before:  g (float[2,6] x, int64[2] i) => (float[] y) <int64[3] s = {2, 1, 6}, int64[1] t = {4}> {
           a = Reshape(x, s)  b = Gather<axis = 2>(a, i)  y = Reshape(b, t)
         }
After:   g (float[2,6] x, int64[2] i) => (float[] y) <int64[3] s = {2, 1, 2}, int64[1] t = {4}> {
           b = Gather<axis = 1>(x, i)  a = Reshape(b, s)  y = Reshape(a, t)
         }
Keeps:   axes that the shape takes apart or puts together; shapes that others read; every bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.reshapes import is_reshape, target


@rewrite(root="Gather", phase="simplify")
def gather_before_reshape(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Gather") or node.inputs[0] is None or is_reshape(node, edit):
        return False
    value, inner = node.inputs[0], node.inputs[0].producer
    if inner is None or inner.graph is not node.graph or not edit.is_read_once(value):
        return False
    if not is_reshape(inner, edit) or node.graph is None or not edit.has("Reshape", node.graph):
        return False
    source, shape, indices = (edit.shape(v) for v in (inner.inputs[0], value, node.inputs[1]))
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    if source is None or shape is None or indices is None:
        return False
    at = same_axis(source, shape, axis % len(shape))
    if at is None or not leads_to_reshapes(node, [*source[:at], *indices, *source[at + 1 :]], edit):
        return False
    return put(node, inner, at, edit)


def same_axis(source: Sequence[Dim], shape: Sequence[Dim], axis: int) -> int | None:
    """The axis of the source that is an axis of its new shape, with as many elements in front of it."""
    if None in source or None in shape[: axis + 1]:
        return None
    lead = math.prod(size for size in shape[:axis] if size is not None)
    for at, size in enumerate(source):
        if size == shape[axis] and math.prod(s for s in source[:at] if s is not None) == lead:
            return at
    return None


def leads_to_reshapes(node: Node, picked: Sequence[Dim], edit: Edit) -> bool:
    """Whether all that reads the entries gives them another shape, which can be said for those picked before."""
    made = node.outputs[0]
    if not edit.is_free(made) or not made._uses or target(picked, edit.shape(made)) is None:
        return False
    readers = [reader for reader, _ in made.uses]
    return all(
        is_reshape(r, edit) and r.inputs[0] is made and target(picked, edit.shape(r.outputs[0])) is not None
        for r in readers
    )


def put(node: Node, inner: Node, axis: int, edit: Edit) -> bool:
    picked = edit.make("Gather", [inner.inputs[0], node.inputs[1]], {"axis": axis}, before=node)
    wanted = target(edit.shape(picked.outputs[0]), edit.shape(node.outputs[0]))
    if wanted is not None:
        shape = edit.constant_of(np.array(wanted, np.int64), f"{node.outputs[0].name}_shape", before=node)
        if edit.replace(node, "Reshape", [picked.outputs[0], shape]):
            return True
    edit.prune(picked)
    return False
