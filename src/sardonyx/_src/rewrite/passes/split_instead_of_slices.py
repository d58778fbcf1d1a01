"""split-instead-of-slices: replace contiguous Slices that cover an axis by one Split.

Spec:    Slice-1 -10 -11 -13, Split-2 -11 -13 -18
Before:  g (float[2,4] x) => (float[] y) <int64[1] o = {0}, int64[1] m = {3}, int64[1] e = {4}, int64[1] a = {1}> {
           p = Slice(x, o, m, a)  q = Slice(x, m, e, a)  u = Neg(p)  v = Neg(q)  y = Concat<axis = 1>(u, v)
         }
After:   g (float[2,4] x) => (float[] y) <int64[2] s = {3, 1}> {
           p, q = Split<axis = 1>(x, s)  u = Neg(p)  v = Neg(q)  y = Concat<axis = 1>(u, v)
         }
Keeps:   slices with gaps, overlaps or steps; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class ContiguousSlice:
    """A Slice of one axis with step 1."""

    node: Node
    axis: int
    start: int
    end: int


@rewrite(root="Slice", phase="fuse")
def split_instead_of_slices(node: Node, edit: Edit) -> bool:
    source, graph = node.inputs[0] if node.inputs else None, node.graph
    if source is None or graph is None or not edit.can_insert("Split", graph):
        return False
    first_slice = contiguous_slice(node, edit)
    if first_slice is None or first_slice.start != 0:
        return False
    others = [
        contiguous_slice(r, edit)
        for r, slot in source.uses
        if slot == 0 and r.graph is graph and r is not node
    ]
    slices = tile_axis(
        first_slice, [p for p in others if p is not None], length(source, first_slice.axis, edit)
    )
    if slices is None:
        return False
    emit_split(source, slices, edit)
    return True


def contiguous_slice(node: Node, edit: Edit) -> ContiguousSlice | None:
    """The range of a Slice along one axis with step 1, with nonnegative bounds; None for other nodes."""
    shape = edit.shape(node.inputs[0]) if node.op_type == "Slice" and node.inputs else None
    if shape is None or not edit.is_a(node, "Slice"):
        return None
    numbers = [integers(node, i, edit) for i in range(4)]
    starts, ends, axes, steps = numbers
    if starts is None or ends is None or len(starts) != 1 or steps not in (None, (1,)):
        return None
    if (steps is None and len(node.inputs) > 4) or (axes is None and len(node.inputs) > 3):
        return None
    axis = 0 if not axes else axes[0] + (len(shape) if axes[0] < 0 else 0)
    size = shape[axis] if 0 <= axis < len(shape) else None
    if not isinstance(size, int):
        return None
    start, end, _ = slice(starts[0], ends[0]).indices(size)
    return ContiguousSlice(node, axis, start, end) if start < end else None


def integers(node: Node, i: int, edit: Edit) -> tuple[int, ...] | None:
    """The i-th parameter (starts, ends, axes or steps), from an attribute in version 1, else from a constant input; None
    if it is omitted or unknown."""
    if edit.version(node) == 1:
        attribute = edit.attributes(node).get(("starts", "ends", "axes", "steps")[i])
        return tuple(int(n) for n in attribute) if isinstance(attribute, tuple) else None
    value = node.inputs[i + 1] if i + 1 < len(node.inputs) else None
    data = edit.constant(value)
    return None if data is None else tuple(int(n) for n in data.reshape(-1))


def length(source: Value, axis: int, edit: Edit) -> int:
    shape = edit.shape(source)
    assert shape is not None, "the input shape is known"
    size = shape[axis]
    assert isinstance(size, int), "the length of the axis is known"
    return size


def tile_axis(
    first: ContiguousSlice, others: list[ContiguousSlice], size: int
) -> list[ContiguousSlice] | None:
    """The slices that cover an axis from start to end without gaps; None if there are none."""
    by_start = {p.start: p for p in reversed(others) if p.axis == first.axis}
    slices = [first]
    while slices[-1].end < size:
        following = by_start.get(slices[-1].end)
        if following is None:
            return None
        slices.append(following)
    return slices if len(slices) > 1 else None


def emit_split(source: Value, slices: list[ContiguousSlice], edit: Edit) -> None:
    """Emit a Split before the first of the slices."""
    graph = slices[0].node.graph
    assert graph is not None, "slices are in a graph"
    slice_nodes = {p.node for p in slices}
    first = next(node for node in graph.nodes if node in slice_nodes)
    sizes = [p.end - p.start for p in slices]
    inputs, attributes = [source], {"axis": slices[0].axis, "split": sizes}
    operator = edit.operator("", "Split", edit.imports(graph)[""])
    assert operator is not None, "Split exists in every opset"
    if operator.version >= 13:
        inputs.append(edit.make_constant(np.array(sizes, np.int64), f"{source.name}_sizes", before=first))
        attributes = {"axis": slices[0].axis}
    split = edit.make("Split", inputs, attributes, before=first, outputs=len(slices), name=first.name)
    for first_slice, output in zip(slices, split.outputs, strict=True):
        replaced = edit.replace_uses(first_slice.node.outputs[0], output)
        assert replaced, f"{output!r} is new and internal"
        edit.prune(first_slice.node)
