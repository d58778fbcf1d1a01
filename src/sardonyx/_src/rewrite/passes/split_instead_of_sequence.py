"""split-instead-of-sequence: split a tensor into a known number of parts by Split, and construct the sequence from them.

Spec:    SplitToSequence-11 -24, Split-2 -11 -13 -18, Squeeze-1 -11 -13 -21 -23 -24 -25, SequenceConstruct-11
Before:  g (float[4] x) => (float[] y) <int64 n = {2}> { s = SplitToSequence<axis = 0>(x, n)  y = ConcatFromSequence<axis = 0>(s) }
After:   g (float[4] x) => (float[] y) <int64[2] k = {2, 2}> {
           p, q = Split<axis = 0>(x, k)  s = SequenceConstruct(p, q)  y = ConcatFromSequence<axis = 0>(s)
         }
Keeps:   tensors whose length along the axis is not known or 0; more than 64 parts; results exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.sequence.split_to_sequence import part_ends
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import with_axes
from sardonyx._src.rewrite.support.sequences import MAX_ELEMENTS


@rewrite(root="SplitToSequence", phase="simplify")
def split_instead_of_sequence(node: Node, edit: Edit) -> bool:
    type_, graph = edit.type(node.inputs[0]) if node.inputs else None, node.graph
    if not edit.is_a(node, "SplitToSequence") or type_ is None or graph is None:
        return False
    attributes = edit.attributes(node)
    axis, keeps_axis = attributes["axis"], bool(attributes["keepdims"]) or len(node.inputs) > 1
    assert isinstance(axis, int), "axis is an integer"
    sizes = part_sizes(node, axis, edit)
    can_insert = (
        edit.can_insert("Split", graph, dtype=type_.dtype)
        and edit.can_insert("SequenceConstruct", graph, dtype=type_.dtype)
        and (keeps_axis or edit.can_insert("Squeeze", graph, dtype=type_.dtype))
    )
    if not sizes or not can_insert:
        return False
    parts = emit_parts(node, axis, sizes, edit)
    if not keeps_axis:
        parts = [drop_axis(part, axis, node, edit) for part in parts]
    return edit.replace(node, "SequenceConstruct", parts)


def part_sizes(node: Node, axis: int, edit: Edit) -> list[int] | None:
    """The sizes of the parts; None if they are not known, too many, or invalid."""
    shape, split = edit.shape(node.inputs[0]), node.inputs[1] if len(node.inputs) > 1 else None
    known = np.array(1) if split is None else edit.elements(split)
    if shape is None or not -len(shape) <= axis < len(shape) or known is None or known.dtype == np.object_:
        return None
    whole = shape[axis]
    if not isinstance(whole, int) or known.size > MAX_ELEMENTS:
        return None
    if known.ndim == 0 and whole > MAX_ELEMENTS * max(int(known), 1):
        return None
    try:
        ends = part_ends(known, whole)
    except EvaluationError:
        return None
    return [end - start for start, end in pairwise([0, *ends])]


def emit_parts(node: Node, axis: int, sizes: Sequence[int], edit: Edit) -> list[Value]:
    """Emits the Split; its sizes are an attribute before version 13."""
    assert node.graph is not None, "the node is in a graph"
    operator = edit.operator("", "Split", edit.imports(node.graph)[""])
    assert operator is not None, "Split can be inserted"
    inputs, attributes = [node.inputs[0]], {"axis": axis}
    if operator.version < 13:
        split = edit.make(
            "Split", inputs, {**attributes, "split": tuple(sizes)}, before=node, outputs=len(sizes)
        )
    else:
        lengths = edit.make_constant(np.array(sizes, np.int64), f"{node.name or 'split'}/sizes", before=node)
        split = edit.make("Split", [*inputs, lengths], attributes, before=node, outputs=len(sizes))
    return list(split.outputs)


def drop_axis(part: Value, axis: int, node: Node, edit: Edit) -> Value:
    inputs, attributes = with_axes("Squeeze", part, [axis], before=node, edit=edit)
    return edit.make("Squeeze", inputs, attributes, before=node).outputs[0]
