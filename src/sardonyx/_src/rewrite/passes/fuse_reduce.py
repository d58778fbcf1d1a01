"""fuse-reduce: a reduction leaves out, or keeps, the axes of length 1 that a node behind it drops or puts back.

Spec:    ReduceSum-1 -11 -13, ReduceMean-1 -11 -13 -18, ReduceMax-1 -11 -12 -13 -18 -20, ReduceMin-1 -11 -12 -13 -18 -20,
         ReduceProd-1 -11 -13 -18, ReduceL1-1 -11 -13 -18, ReduceL2-1 -11 -13 -18, ReduceLogSum-1 -11 -13 -18 -28,
         ReduceLogSumExp-1 -11 -13 -18 -28, ReduceSumSquare-1 -11 -13 -18, ArgMax-1 -11 -12 -13, ArgMin-1 -11 -12 -13,
         GlobalAveragePool-1 -22, GlobalMaxPool-1 -22, AveragePool-7 -10 -11 -19 -22,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25,
         Flatten-1 -9 -11 -13 -21 -23 -24 -25
Before:  g (float[2,3] x) => (float[] y) <int64[1] k = {1}> { a = ReduceMax<keepdims = 1>(x, k)  y = Squeeze(a, k) }
After:   g (float[2,3] x) => (float[] y) <int64[1] k = {1}> { y = ReduceMax<keepdims = 0>(x, k) }
Keeps:   reductions whose result is read elsewhere; pools that do not see the whole image at once; means up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.axis_lists import axes_of, with_axes
from sardonyx._src.rewrite.edit import Edit

LISTS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
)
ONE = ("ArgMax", "ArgMin")
POOLS = {"GlobalAveragePool": "ReduceMean", "GlobalMaxPool": "ReduceMax", "AveragePool": "ReduceMean"}


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a node reduces, and whether its result has axes of length 1 in their place."""

    op_type: str
    axes: Sequence[int]
    keeps: bool


@rewrite(root=("Squeeze", "Unsqueeze", "Reshape", "Flatten"), phase="fuse")
def fuse_reduce(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or node.inputs[0] is None:
        return False
    middle, head = node.inputs[0], node.inputs[0].producer
    if head is None or head.graph is not node.graph or not edit.is_read_once(middle):
        return False
    shape = edit.shape(head.inputs[0]) if head.inputs else None
    found = None if shape is None else reduction(head, shape, edit)
    if shape is None or found is None or not only_turns(node, found, shape, edit):
        return False
    inputs, attributes = said(head, found, edit)
    return edit.replace(node, found.op_type, inputs, {**attributes, "keepdims": 0 if found.keeps else 1})


def reduction(head: Node, shape: Sequence[Dim], edit: Edit) -> Reduction | None:
    if head.op_type in POOLS and edit.is_a(head, head.op_type):
        return pooled(head, shape, edit)
    if head.op_type not in (*LISTS, *ONE) or not edit.is_a(head, head.op_type):
        return None
    axes = reduced(head, len(shape), edit)
    keeps = edit.attributes(head)["keepdims"] == 1
    return None if axes is None else Reduction(head.op_type, axes, keeps)


def reduced(head: Node, rank: int, edit: Edit) -> tuple[int, ...] | None:
    attributes = edit.attributes(head)
    if head.op_type in ONE:
        axis = attributes["axis"]
        return (axis % rank,) if isinstance(axis, int) and -rank <= axis < rank else None
    axes = axes_of(head, rank, edit)
    if axes is None or axes:
        return axes
    return None if attributes.get("noop_with_empty_axes") else tuple(range(rank))


def pooled(head: Node, shape: Sequence[Dim], edit: Edit) -> Reduction | None:
    """A pool as the reduction of all axes behind the second, if its only window is the whole image."""
    new = POOLS[head.op_type]
    assert head.graph is not None, "a node that is asked about is in a graph"
    if len(shape) < 3 or not edit.has(new, head.graph) or not edit.is_read_once(head.outputs[0]):
        return None
    if head.op_type == "AveragePool" and not sees_all(head, shape, edit):
        return None
    return Reduction(new, range(2, len(shape)), True)


def sees_all(pool: Node, shape: Sequence[Dim], edit: Edit) -> bool:
    """Whether an AveragePool has one window, which holds the whole image and counts nothing else."""
    attributes, made = edit.attributes(pool), edit.shape(pool.outputs[0]) or ()
    kernel = attributes["kernel_shape"]
    if not isinstance(kernel, tuple) or attributes["auto_pad"] != "NOTSET" or any(s != 1 for s in made[2:]):
        return False
    pads, dilations = attributes.get("pads"), attributes.get("dilations")
    before = pads[: len(kernel)] if isinstance(pads, tuple) else (0,) * len(kernel)
    if isinstance(dilations, tuple) and any(d != 1 for d in dilations):
        return False
    rows = list(zip(kernel, before, shape[2:], strict=True))
    if attributes["count_include_pad"]:
        return all(size == k and not b for k, b, size in rows)
    return all(isinstance(size, int) and k - b >= size for k, b, size in rows)


def said(head: Node, found: Reduction, edit: Edit) -> tuple[Sequence[Value | None], Mapping[str, object]]:
    """The reduction's inputs and attributes."""
    if head.op_type in POOLS:
        return with_axes(found.op_type, head.inputs[0], found.axes, before=head, edit=edit)
    return head.inputs, dict(head.attributes)


def only_turns(node: Node, found: Reduction, shape: Sequence[Dim], edit: Edit) -> bool:
    """Whether a node does no more to the result than to drop its reduced axes, or to put them back."""
    wanted: list[Dim] = []
    for axis, size in enumerate(shape):
        if axis not in found.axes:
            wanted.append(size)
        elif not found.keeps:
            wanted.append(1)
    if node.op_type == ("Squeeze" if found.keeps else "Unsqueeze"):
        axes = axes_of(node, len(shape), edit)
        if axes:
            return axes == tuple(found.axes)
    made = edit.shape(node.outputs[0])
    return None not in wanted and made is not None and list(made) == wanted
