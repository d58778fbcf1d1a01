"""fuse-reduce: fold a Squeeze, Unsqueeze or Reshape of unit axes into the keepdims of a reduction.

Spec:    ReduceSum-1 -11 -13, ReduceMean-1 -11 -13 -18, ReduceMax-1 -11 -12 -13 -18 -20, ReduceMin-1 -11 -12 -13 -18 -20,
         ReduceProd-1 -11 -13 -18, ReduceL1-1 -11 -13 -18, ReduceL2-1 -11 -13 -18, ReduceLogSum-1 -11 -13 -18 -28,
         ReduceLogSumExp-1 -11 -13 -18 -28, ReduceSumSquare-1 -11 -13 -18, ArgMax-1 -11 -12 -13, ArgMin-1 -11 -12 -13,
         GlobalAveragePool-1 -22, GlobalMaxPool-1 -22, AveragePool-7 -10 -11 -19 -22,
         Squeeze-1 -11 -13 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Reshape-5 -13 -14 -19 -21 -23 -24 -25,
         Flatten-1 -9 -11 -13 -21 -23 -24 -25
Before:  g (float[2,3] x) => (float[] y) <int64[1] k = {1}> { a = ReduceMax<keepdims = 1>(x, k)  y = Squeeze(a, k) }
After:   g (float[2,3] x) => (float[] y) <int64[1] k = {1}> { y = ReduceMax<keepdims = 0>(x, k) }
Keeps:   reductions whose result has other uses; pools with more than one window; means up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import axes_of, with_axes

ARG_OPERATORS = ("ArgMax", "ArgMin")
POOL_REDUCTIONS = {
    "GlobalAveragePool": "ReduceMean",
    "GlobalMaxPool": "ReduceMax",
    "AveragePool": "ReduceMean",
}


@dataclass(frozen=True, slots=True)
class ReducedAxes:
    """The axes that a node reduces, and whether it keeps them with length 1."""

    op_type: str
    axes: Sequence[int]
    keeps: bool


@rewrite(root=("Squeeze", "Unsqueeze", "Reshape", "Flatten"), phase="fuse")
def fuse_reduce(node: Node, edit: Edit) -> bool:
    if not edit.is_a(node, node.op_type) or not node.inputs or node.inputs[0] is None:
        return False
    middle, head = node.inputs[0], node.inputs[0].producer
    if head is None or head.graph is not node.graph or not edit.has_one_use(middle):
        return False
    shape = edit.shape(head.inputs[0]) if head.inputs else None
    reduced = None if shape is None else reduction(head, shape, edit)
    if shape is None or reduced is None or not only_changes_unit_axes(node, reduced, shape, edit):
        return False
    inputs, attributes = operands_of(head, reduced, edit)
    return edit.replace(node, reduced.op_type, inputs, {**attributes, "keepdims": 0 if reduced.keeps else 1})


def reduction(head: Node, shape: Sequence[Dim], edit: Edit) -> ReducedAxes | None:
    if head.op_type in POOL_REDUCTIONS and edit.is_a(head, head.op_type):
        return pool_reduction(head, shape, edit)
    operator = edit.operator_of(head) if edit.is_a(head, head.op_type) else None
    if operator is None or not (operator.op.reduction or head.op_type in ARG_OPERATORS):
        return None
    axes = reduced_axes(head, len(shape), edit)
    keeps = edit.attributes(head)["keepdims"] == 1
    return None if axes is None else ReducedAxes(head.op_type, axes, keeps)


def reduced_axes(head: Node, rank: int, edit: Edit) -> tuple[int, ...] | None:
    attributes = edit.attributes(head)
    if head.op_type in ARG_OPERATORS:
        axis = attributes["axis"]
        return (axis % rank,) if isinstance(axis, int) and -rank <= axis < rank else None
    axes = axes_of(head, rank, edit)
    if axes is None or axes:
        return axes
    return None if attributes.get("noop_with_empty_axes") else tuple(range(rank))


def pool_reduction(head: Node, shape: Sequence[Dim], edit: Edit) -> ReducedAxes | None:
    """A pool as a reduction of the spatial axes, if its only window is the whole image."""
    new = POOL_REDUCTIONS[head.op_type]
    assert head.graph is not None, "the node is in a graph"
    if len(shape) < 3 or not edit.can_insert(new, head.graph) or not edit.has_one_use(head.outputs[0]):
        return None
    if head.op_type == "AveragePool" and not has_global_window(head, shape, edit):
        return None
    return ReducedAxes(new, range(2, len(shape)), True)


def has_global_window(pool: Node, shape: Sequence[Dim], edit: Edit) -> bool:
    """Whether an AveragePool has one window that covers the whole image, and whose mean does not count padding."""
    attributes, result_shape = edit.attributes(pool), edit.shape(pool.outputs[0]) or ()
    kernel = attributes["kernel_shape"]
    if (
        not isinstance(kernel, tuple)
        or attributes["auto_pad"] != "NOTSET"
        or any(s != 1 for s in result_shape[2:])
    ):
        return False
    pads, dilations = attributes.get("pads"), attributes.get("dilations")
    before = pads[: len(kernel)] if isinstance(pads, tuple) else (0,) * len(kernel)
    if isinstance(dilations, tuple) and any(d != 1 for d in dilations):
        return False
    rows = list(zip(kernel, before, shape[2:], strict=True))
    if attributes["count_include_pad"]:
        return all(size == k and not b for k, b, size in rows)
    return all(isinstance(size, int) and k - b >= size for k, b, size in rows)


def operands_of(
    head: Node, reduced: ReducedAxes, edit: Edit
) -> tuple[Sequence[Value | None], Mapping[str, object]]:
    """The inputs and attributes of the reduction."""
    if head.op_type in POOL_REDUCTIONS:
        return with_axes(reduced.op_type, head.inputs[0], reduced.axes, before=head, edit=edit)
    return head.inputs, dict(head.attributes)


def only_changes_unit_axes(node: Node, reduced: ReducedAxes, shape: Sequence[Dim], edit: Edit) -> bool:
    """Whether a node only removes the reduced unit axes, or only inserts them."""
    expected: list[Dim] = []
    for axis, size in enumerate(shape):
        if axis not in reduced.axes:
            expected.append(size)
        elif not reduced.keeps:
            expected.append(1)
    if node.op_type == ("Squeeze" if reduced.keeps else "Unsqueeze"):
        axes = axes_of(node, len(shape), edit)
        if axes:
            return axes == tuple(reduced.axes)
    actual = edit.shape(node.outputs[0])
    return None not in expected and actual is not None and list(actual) == expected
