"""split-instead-of-slices: slices that cut a tensor into pieces, one behind the other, become one Split.

Spec:    Slice-1 -10 -11 -13, Split-2 -11 -13 -18
Before:  g (float[2,4] x) => (float[] y) <int64[1] o = {0}, int64[1] m = {3}, int64[1] e = {4}, int64[1] a = {1}> {
           p = Slice(x, o, m, a)  q = Slice(x, m, e, a)  u = Neg(p)  v = Neg(q)  y = Concat<axis = 1>(u, v)
         }
After:   g (float[2,4] x) => (float[] y) <int64[2] s = {3, 1}> {
           p, q = Split<axis = 1>(x, s)  u = Neg(p)  v = Neg(q)  y = Concat<axis = 1>(u, v)
         }
Keeps:   slices that leave gaps, overlap or step; every bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit


@dataclass(frozen=True, slots=True)
class Piece:
    node: Node
    axis: int
    start: int
    end: int


@rewrite(root="Slice", phase="fuse")
def split_instead_of_slices(node: Node, edit: Edit) -> bool:
    source, graph = node.inputs[0] if node.inputs else None, node.graph
    if source is None or graph is None or not edit.has("Split", graph):
        return False
    piece = piece_of(node, edit)
    if piece is None or piece.start != 0:
        return False
    others = [
        piece_of(r, edit) for r, slot in source.uses if slot == 0 and r.graph is graph and r is not node
    ]
    pieces = row(piece, [p for p in others if p is not None], length(source, piece.axis, edit))
    if pieces is None:
        return False
    put(source, pieces, edit)
    return True


def piece_of(node: Node, edit: Edit) -> Piece | None:
    """What a Slice along one axis with steps of 1 cuts out, counted from the front."""
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
    return Piece(node, axis, start, end) if start < end else None


def integers(node: Node, i: int, edit: Edit) -> tuple[int, ...] | None:
    """Starts, ends, axes or steps, from an attribute in version 1, else from a constant input; None where they are
    left out or not known."""
    if edit.version(node) == 1:
        found = edit.attributes(node).get(("starts", "ends", "axes", "steps")[i])
        return tuple(int(n) for n in found) if isinstance(found, tuple) else None
    value = node.inputs[i + 1] if i + 1 < len(node.inputs) else None
    known = edit.constant(value)
    return None if known is None else tuple(int(n) for n in known.reshape(-1))


def length(source: Value, axis: int, edit: Edit) -> int:
    shape = edit.shape(source)
    assert shape is not None, "a piece knows the shape"
    size = shape[axis]
    assert isinstance(size, int), "a piece knows the size of its axis"
    return size


def row(first: Piece, others: list[Piece], size: int) -> list[Piece] | None:
    """Pieces, each of which begins where the one before ends, from the front to the back; None where there are none."""
    by_start = {p.start: p for p in reversed(others) if p.axis == first.axis}
    pieces = [first]
    while pieces[-1].end < size:
        following = by_start.get(pieces[-1].end)
        if following is None:
            return None
        pieces.append(following)
    return pieces if len(pieces) > 1 else None


def put(source: Value, pieces: list[Piece], edit: Edit) -> None:
    """Puts a Split before the first of the slices."""
    graph = pieces[0].node.graph
    assert graph is not None, "pieces stand in a graph"
    among = {p.node for p in pieces}
    first = next(node for node in graph.nodes if node in among)
    sizes = [p.end - p.start for p in pieces]
    inputs, attributes = [source], {"axis": pieces[0].axis, "split": sizes}
    found = edit.operator("", "Split", edit.imports(graph)[""])
    assert found is not None, "Split is there"
    if found.version >= 13:
        inputs.append(edit.constant_of(np.array(sizes, np.int64), f"{source.name}_sizes", before=first))
        attributes = {"axis": pieces[0].axis}
    split = edit.make("Split", inputs, attributes, before=first, outputs=len(pieces), name=first.name)
    for piece, output in zip(pieces, split.outputs, strict=True):
        done = edit.forward(piece.node.outputs[0], output)
        assert done, f"{output!r} is new and free"
        edit.prune(piece.node)
