"""unsqueeze-after-concat: concatenate before adding a new axis, instead of stacking unsqueezed values.

Spec:    Unsqueeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Concat-4 -11 -13
Before:  g (float[2,3] x, float[2,3] z) => (float[] y) <int64[1] k = {0}> {
           a = Unsqueeze(x, k)  b = Unsqueeze(z, k)  y = Concat<axis = 0>(a, b)
         }
After:   g (float[2,3] x, float[2,3] z) => (float[] y) <int64[3] s = {2, 2, 3}> { c = Concat<axis = 0>(x, z)  y = Reshape(c, s) }
Keeps:   a new last axis; unsqueezed values with other uses; results exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.reshapes import reshape_target


@rewrite(root="Concat", phase="fuse")
def unsqueeze_after_concat(node: Node, edit: Edit) -> bool:
    result_shape, graph = edit.shape(node.outputs[0]), node.graph
    if (
        not edit.is_a(node, "Concat")
        or result_shape is None
        or graph is None
        or not edit.can_insert("Reshape", graph)
    ):
        return False
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    new_axis = axis % len(result_shape)
    sources = [unsqueeze_source(value, new_axis, node, edit) for value in node.inputs]
    if len(sources) < 2 or any(v is None or edit.shape(v) != edit.shape(sources[0]) for v in sources):
        return False
    concat = edit.make("Concat", sources, {"axis": new_axis}, before=node)
    new_shape = reshape_target(edit.shape(concat.outputs[0]), result_shape)
    if new_shape is None:
        edit.prune(concat)
        return False
    shape = edit.make_constant(np.array(new_shape, np.int64), f"{node.outputs[0].name}_shape", before=node)
    return edit.replace(node, "Reshape", [concat.outputs[0], shape])


def unsqueeze_source(value: Value | None, axis: int, node: Node, edit: Edit) -> Value | None:
    """The tensor from which a value was unsqueezed, with a unit axis inserted before an existing axis; None if there is none."""
    producer = None if value is None else value.producer
    if value is None or producer is None or producer.graph is not node.graph or not edit.has_one_use(value):
        return None
    if producer.op_type not in ("Unsqueeze", "Reshape") or not edit.is_a(producer, producer.op_type):
        return None
    source_shape, shape = edit.shape(producer.inputs[0]), edit.shape(value)
    if source_shape is None or shape is None or None in shape or axis >= len(source_shape):
        return None
    return producer.inputs[0] if list(shape) == with_one(source_shape, axis) else None


def with_one(shape: Sequence[Dim], axis: int) -> list[Dim]:
    return [*shape[:axis], 1, *shape[axis:]]
