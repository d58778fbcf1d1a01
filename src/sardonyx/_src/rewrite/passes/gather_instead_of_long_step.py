"""gather-instead-of-long-step: replace a Slice from a computed start whose step passes the end of its axis by a Gather.

Spec:    Slice-10 -11 -13, Squeeze-1 -11 -13 -21 -23 -24 -25, Gather-11 -13, Max-8 -12 -13, Where-9 -16, Cast-6 -9 -13 -19 -21 -23 -24 -25 -28
Before:  g (float[5,3] x, int32[1] s) => (float[] y) <int32[1] e = {1000000}, int32[1] o = {0}, int32[1] t = {1000000}, int64[1] a = {0}> {
           b = Slice(x, s, e, o, t)  y = Squeeze(b, a)
         }
After:   g (float[5,3] x, int32[1] s) => (float[] y) <int32 low = {-5}, int64[1] a = {0}> {
           i = Max(s, low)  b = Gather<axis = 0>(x, i)  y = Squeeze(b, a)
         }
Keeps:   slices whose axis is not removed, since they may be empty; ends that may be within the axis; slices with other uses.
         A start past the end of its axis stays an error: there is no entry that could be read.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import axes_of

MAX_BOUND_DEPTH = 16  # nodes between a value and the constants of its bound
MOVING = ("Identity", "Unsqueeze", "Squeeze", "Reshape")
INDEX_TYPES = {DataType.INT32: np.int32, DataType.INT64: np.int64}


@rewrite(root="Squeeze", phase="fuse")
def gather_instead_of_long_step(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Squeeze") or not node.inputs or node.graph is None:
        return False
    slice_node, graph = edit.producer(node.inputs[0], "Slice"), node.graph
    if slice_node is None or slice_node.graph is not graph or len(slice_node.inputs) < 5:
        return False
    start = slice_node.inputs[1]
    shape, type_ = edit.shape(slice_node.inputs[0]), edit.type(start)
    axis = sliced_axis(slice_node, edit)
    if (
        type_ is None
        or type_.dtype not in INDEX_TYPES
        or type_.shape != (1,)
        or shape is None
        or axis is None
    ):
        return False
    size = shape[axis]
    if not isinstance(size, int) or not passes_end(slice_node, size, edit):
        return False
    squeezed = axes_of(node, len(shape), edit)
    if not squeezed or axis not in squeezed or not edit.has_one_use(slice_node.outputs[0]):
        return False
    if not edit.can_insert("Gather", graph) or not edit.can_insert("Max", graph, dtype=type_.dtype):
        return False
    low = edit.make_constant(
        np.array(-size, INDEX_TYPES[type_.dtype]), f"{slice_node.outputs[0].name}_first", before=slice_node
    )
    index = edit.make("Max", [start, low], before=slice_node)
    return edit.replace(slice_node, "Gather", [slice_node.inputs[0], index.outputs[0]], {"axis": axis})


def sliced_axis(slice_node: Node, edit: Edit) -> int | None:
    """The nonnegative axis of a Slice of one axis; None if it is unknown or there are several."""
    axes, rank = edit.constant(slice_node.inputs[3]), edit.rank(slice_node.inputs[0])
    if axes is None or axes.size != 1 or rank is None or not -rank <= int(axes.reshape(-1)[0]) < rank:
        return None
    return int(axes.reshape(-1)[0]) % rank


def passes_end(slice_node: Node, size: int, edit: Edit) -> bool:
    """Whether a slice ends at the end of its axis or later, and its step from any start leads past that end."""
    steps, end = edit.constant(slice_node.inputs[4]), lower_bound(slice_node.inputs[2], edit)
    return (
        steps is not None and steps.size == 1 and int(steps.reshape(-1)[0]) >= size and (end or 0) >= size > 0
    )


def lower_bound(value: Value | None, edit: Edit, depth: int = MAX_BOUND_DEPTH) -> int | None:
    """A number that no element of an integer tensor is less than; None if none is known.

    Casts of floats that are out of the range of the integer type have no defined result, and are not considered.
    """
    data = edit.constant(value)
    if data is not None:
        numbers = [float(n) for n in data.reshape(-1)] if data.size and data.dtype.kind in "iuf" else []
        return math.floor(min(numbers)) if numbers and all(map(math.isfinite, numbers)) else None
    node = None if value is None else value.producer
    if node is None or not depth or node.domain:
        return None
    if node.op_type == "Where":
        return bound_of_choice(node, edit, depth - 1)
    if node.op_type == "Max":
        known = [b for b in (lower_bound(v, edit, depth - 1) for v in node.inputs) if b is not None]
        return max(known, default=None)
    if node.op_type == "Cast" or node.op_type in MOVING:
        return lower_bound(node.inputs[0], edit, depth - 1)
    return None


def bound_of_choice(node: Node, edit: Edit, depth: int) -> int | None:
    """The bound of a Where: that of the operand which a constant condition chooses, or of both."""
    condition, then, otherwise = node.inputs
    data = edit.constant(condition)
    if data is not None and data.size and (data.all() or not data.any()):
        return lower_bound(then if data.all() else otherwise, edit, depth)
    bounds = [lower_bound(v, edit, depth) for v in (then, otherwise)]
    return None if bounds[0] is None or bounds[1] is None else min(bounds[0], bounds[1])
