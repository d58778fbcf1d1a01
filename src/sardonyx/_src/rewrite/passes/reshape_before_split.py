"""reshape-before-split: pieces that are all given another shape alike are cut from a tensor that has it already.

Spec:    Split-2 -11 -13 -18, Reshape-5 -13 -14 -19 -21 -23 -24 -25
Before:  g (float[2,6] x) => (float[] y, float[] z) <int64[3] s = {2, 1, 3}> {
           a, b = Split<axis = 1, num_outputs = 2>(x)  y = Reshape(a, s)  z = Reshape(b, s)
         }
After:   g (float[2,6] x) => (float[] y, float[] z) <int64[3] s = {2, 2, 3}, int64[2] n = {1, 1}> {
           a = Reshape(x, s)  y, z = Split<axis = 1>(a, n)
         }
Keeps:   pieces that others read as they are; shapes whose pieces do not lie one behind the other; every bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.pieces import only_readers, put_split
from sardonyx._src.rewrite.reshapes import target


@rewrite(root="Split", phase="fuse")
def reshape_before_split(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, "Split") or len(node.outputs) < 2 or node.graph is None:
        return False
    readers = only_readers(node, "Reshape", edit)
    given = edit.shape(node.inputs[0])
    if readers is None or given is None or not edit.has("Reshape", node.graph):
        return False
    axis = edit.attributes(node)["axis"]
    assert isinstance(axis, int), "axis is an integer"
    made = [edit.shape(reader.outputs[0]) for reader in readers]
    whole = joined(given, axis % len(given), made)
    if whole is None:
        return False
    shape, at = whole
    wanted = target(given, shape)
    if wanted is None:
        return False
    constant = edit.constant_of(np.array(wanted, np.int64), f"{node.outputs[0].name}_shape", before=node)
    before = edit.make("Reshape", [node.inputs[0], constant], before=node)
    sizes = [int(size) for s in made if s is not None and isinstance(size := s[at], int)]
    results: list[Value] = [reader.outputs[0] for reader in readers]
    put_split(node, before.outputs[0], at, sizes, results, edit)
    return True


def joined(
    given: Sequence[Dim], axis: int, made: Sequence[Sequence[Dim] | None]
) -> tuple[Sequence[Dim], int] | None:
    """The shape of all pieces together, and the axis along which they lie in it."""
    first, shapes = made[0], [size for shape in made if shape is not None for size in shape]
    sizes = [size for size in given[:axis] if size is not None]
    if first is None or None in shapes or len(sizes) != axis:
        return None
    lead = math.prod(sizes)
    for at in range(len(first)):
        pieces = [size_at(shape, at, first) for shape in made]
        known = [size for size in pieces if size is not None]
        before = [size for size in first[:at] if size is not None]
        if len(known) == len(made) and math.prod(before) == lead:
            return [*first[:at], sum(known), *first[at + 1 :]], at
    return None


def size_at(shape: Sequence[Dim] | None, at: int, first: Sequence[Dim]) -> int | None:
    """A piece's length along an axis, if all others are those of the first piece."""
    if shape is None or len(shape) != len(first) or not isinstance(size := shape[at], int) or size == 0:
        return None
    return size if [*shape[:at], *shape[at + 1 :]] == [*first[:at], *first[at + 1 :]] else None
