"""unsqueeze-after-concat: what is stacked along a new axis is joined first and given the axis once.

Spec:    Unsqueeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25, Concat-4 -11 -13
Before:  g (float[2,3] x, float[2,3] z) => (float[] y) <int64[1] k = {0}> {
           a = Unsqueeze(x, k)  b = Unsqueeze(z, k)  y = Concat<axis = 0>(a, b)
         }
After:   g (float[2,3] x, float[2,3] z) => (float[] y) <int64[3] s = {2, 2, 3}> { c = Concat<axis = 0>(x, z)  y = Reshape(c, s) }
Keeps:   a new axis behind all others; pieces that others read; every bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.reshapes import target


@rewrite(root="Concat", phase="fuse")
def unsqueeze_after_concat(node: Node, edit: Edit) -> bool:
    made, graph = edit.shape(node.outputs[0]), node.graph
    if not edit.is_a(node, "Concat") or made is None or graph is None or not edit.has("Reshape", graph):
        return False
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    at = axis % len(made)
    sources = [stacked(value, at, node, edit) for value in node.inputs]
    if len(sources) < 2 or any(v is None or edit.shape(v) != edit.shape(sources[0]) for v in sources):
        return False
    joined = edit.make("Concat", sources, {"axis": at}, before=node)
    wanted = target(edit.shape(joined.outputs[0]), made)
    if wanted is None:
        edit.prune(joined)
        return False
    shape = edit.constant_of(np.array(wanted, np.int64), f"{node.outputs[0].name}_shape", before=node)
    return edit.replace(node, "Reshape", [joined.outputs[0], shape])


def stacked(value: Value | None, axis: int, node: Node, edit: Edit) -> Value | None:
    """The tensor that a value is with one axis of length 1 more, in front of one that it has."""
    maker = None if value is None else value.producer
    if value is None or maker is None or maker.graph is not node.graph or not edit.is_read_once(value):
        return None
    if maker.op_type not in ("Unsqueeze", "Reshape") or not edit.is_a(maker, maker.op_type):
        return None
    given, made = edit.shape(maker.inputs[0]), edit.shape(value)
    if given is None or made is None or None in made or axis >= len(given):
        return None
    return maker.inputs[0] if list(made) == with_one(given, axis) else None


def with_one(shape: Sequence[Dim], axis: int) -> list[Dim]:
    return [*shape[:axis], 1, *shape[axis:]]
