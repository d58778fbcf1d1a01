"""gather-before-reshape: gather before a Reshape instead of after it, if another Reshape follows.

Spec:    Gather-1 -11 -13, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Flatten-1 -9 -11 -13 -21 -23 -24 -25,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Transpose-1 -13 -21 -23 -24 -25
Before:  g (float[2,6] x, int64[2] i) => (float[] y) <int64[3] s = {2, 1, 6}, int64[1] t = {4}> {
           a = Reshape(x, s)  b = Gather<axis = 2>(a, i)  y = Reshape(b, t)
         }
After:   g (float[2,6] x, int64[2] i) => (float[] y) <int64[3] s = {2, 1, 2}, int64[1] t = {4}> {
           b = Gather<axis = 1>(x, i)  a = Reshape(b, s)  y = Reshape(a, t)
         }
Keeps:   axes that the Reshape splits or merges; reshaped values with other uses; results exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.reshapes import is_reshape, reshape_target


@rewrite(root="Gather", phase="simplify")
def gather_before_reshape(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Gather") or node.inputs[0] is None or is_reshape(node, edit):
        return False
    value, inner = node.inputs[0], node.inputs[0].producer
    if inner is None or inner.graph is not node.graph or not edit.has_one_use(value):
        return False
    if not is_reshape(inner, edit) or node.graph is None or not edit.can_insert("Reshape", node.graph):
        return False
    source, shape, indices = (edit.shape(v) for v in (inner.inputs[0], value, node.inputs[1]))
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    if source is None or shape is None or indices is None:
        return False
    source_axis = same_axis(source, shape, axis % len(shape))
    if source_axis is None or not leads_to_reshapes(
        node, [*source[:source_axis], *indices, *source[source_axis + 1 :]], edit
    ):
        return False
    return emit_gather_reshape(node, inner, source_axis, edit)


def same_axis(source: Sequence[Dim], shape: Sequence[Dim], axis: int) -> int | None:
    """The source axis of the same length that has as many elements before it; None if there is none."""
    if None in source or None in shape[: axis + 1]:
        return None
    lead = math.prod(size for size in shape[:axis] if size is not None)
    for source_axis, size in enumerate(source):
        if size == shape[axis] and math.prod(s for s in source[:source_axis] if s is not None) == lead:
            return source_axis
    return None


def leads_to_reshapes(node: Node, picked: Sequence[Dim], edit: Edit) -> bool:
    """Whether all readers reshape the gathered entries, to shapes that can be stated for the source."""
    result = node.outputs[0]
    if not edit.is_internal(result) or not result._uses or reshape_target(picked, edit.shape(result)) is None:
        return False
    readers = [reader for reader, _ in result.uses]
    return all(
        is_reshape(r, edit)
        and r.inputs[0] is result
        and reshape_target(picked, edit.shape(r.outputs[0])) is not None
        for r in readers
    )


def emit_gather_reshape(node: Node, inner: Node, axis: int, edit: Edit) -> bool:
    picked = edit.make("Gather", [inner.inputs[0], node.inputs[1]], {"axis": axis}, before=node)
    new_shape = reshape_target(edit.shape(picked.outputs[0]), edit.shape(node.outputs[0]))
    if new_shape is not None:
        shape = edit.make_constant(
            np.array(new_shape, np.int64), f"{node.outputs[0].name}_shape", before=node
        )
        if edit.replace(node, "Reshape", [picked.outputs[0], shape]):
            return True
    edit.prune(picked)
    return False
