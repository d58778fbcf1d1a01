"""reshape-before-split: reshape once before a Split instead of each of its outputs.

Spec:    Split-2 -11 -13 -18, Reshape-5 -13 -14 -19 -21 -23 -24 -25
Before:  g (float[2,6] x) => (float[] y, float[] z) <int64[3] s = {2, 1, 3}> {
           a, b = Split<axis = 1, num_outputs = 2>(x)  y = Reshape(a, s)  z = Reshape(b, s)
         }
After:   g (float[2,6] x) => (float[] y, float[] z) <int64[3] s = {2, 2, 3}, int64[2] n = {1, 1}> {
           a = Reshape(x, s)  y, z = Split<axis = 1>(a, n)
         }
Keeps:   Split outputs with other uses; shapes that are not contiguous along one axis; results exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.reshapes import reshape_target
from sardonyx._src.rewrite.support.splits import insert_split, only_readers


@rewrite(root="Split", phase="fuse")
def reshape_before_split(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Split") or len(node.outputs) < 2 or node.graph is None:
        return False
    readers = only_readers(node, "Reshape", edit)
    source_shape = edit.shape(node.inputs[0])
    if readers is None or source_shape is None or not edit.can_insert("Reshape", node.graph):
        return False
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    part_shapes = [edit.shape(reader.outputs[0]) for reader in readers]
    joined = joined_shape(source_shape, axis % len(source_shape), part_shapes)
    if joined is None:
        return False
    shape, split_axis = joined
    new_shape = reshape_target(source_shape, shape)
    if new_shape is None:
        return False
    constant = edit.make_constant(np.array(new_shape, np.int64), f"{node.outputs[0].name}_shape", before=node)
    before = edit.make("Reshape", [node.inputs[0], constant], before=node)
    sizes = [int(size) for s in part_shapes if s is not None and isinstance(size := s[split_axis], int)]
    results: list[Value] = [reader.outputs[0] for reader in readers]
    insert_split(node, before.outputs[0], split_axis, sizes, results, edit)
    return True


def joined_shape(
    source: Sequence[Dim], axis: int, parts: Sequence[Sequence[Dim] | None]
) -> tuple[Sequence[Dim], int] | None:
    """The shape of the concatenation of all reshaped parts, and the axis along which it is one."""
    first, shapes = parts[0], [size for shape in parts if shape is not None for size in shape]
    sizes = [size for size in source[:axis] if size is not None]
    if first is None or None in shapes or len(sizes) != axis:
        return None
    lead = math.prod(sizes)
    for candidate in range(len(first)):
        lengths = [size_at(shape, candidate, first) for shape in parts]
        known = [size for size in lengths if size is not None]
        before = [size for size in first[:candidate] if size is not None]
        if len(known) == len(parts) and math.prod(before) == lead:
            return [*first[:candidate], sum(known), *first[candidate + 1 :]], candidate
    return None


def size_at(shape: Sequence[Dim] | None, axis: int, first: Sequence[Dim]) -> int | None:
    """The length of a part along an axis, if all its other dims equal those of the first part."""
    if shape is None or len(shape) != len(first) or not isinstance(size := shape[axis], int) or size == 0:
        return None
    return size if [*shape[:axis], *shape[axis + 1 :]] == [*first[:axis], *first[axis + 1 :]] else None
