"""resolve-sequences: read tensors where a sequence with known elements holds them.

Spec:    SequenceAt-11, SequenceLength-11, ConcatFromSequence-11, SequenceConstruct-11, SequenceEmpty-11,
         SequenceInsert-11, SequenceErase-11, Concat-4 -11 -13, Unsqueeze-1 -11 -13 -21 -23 -24 -25,
         Identity-1 -13 -14 -16 -19 -21 -23 -24 -25
Before:  g (float[2] x, float[3] z) => (float[] y) {
           s = SequenceConstruct(x, z)  y = ConcatFromSequence<axis = 0>(s)
         }
After:   g (float[2] x, float[3] z) => (float[] y) { y = Concat<axis = 0>(x, z) }
Keeps:   sequences that inputs, loops or branches give; positions that are not constant, or outside; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.sequences import elements_of, position_of, source_of
from sardonyx._src.rewrite.support.stacking import emit_stack


@rewrite(root=("SequenceAt", "SequenceLength", "ConcatFromSequence"), phase="simplify")
def resolve_sequences(node: Node, edit: Edit) -> bool:
    elements = elements_of(source_of(node), edit) if node.inputs else None
    if elements is None:
        return False
    if edit.is_a(node, "SequenceLength"):
        count = Tensor.of(np.array(len(elements), np.int64))
        return edit.replace_with_constants(node, {node.outputs[0]: count})
    if edit.is_a(node, "SequenceAt"):
        return take_element(node, elements, edit)
    return edit.is_a(node, "ConcatFromSequence") and concatenate(node, elements, edit)


def take_element(node: Node, elements: list[Value], edit: Edit) -> bool:
    position = position_of(node, 1, 0, len(elements), edit)
    return position is not None and edit.forward(node, elements[position])


def concatenate(node: Node, elements: list[Value], edit: Edit) -> bool:
    graph, attributes = node.graph, edit.attributes(node)
    types = [edit.type(value) for value in elements]
    dtypes = {None if type_ is None else type_.dtype for type_ in types}
    if graph is None or len(dtypes) != 1 or None in dtypes:
        return False
    axis = attributes["axis"]
    assert isinstance(axis, int), "axis is an integer"
    if not edit.can_insert("Concat", graph, dtype=dtypes.pop()):
        return False
    if not attributes["new_axis"]:
        return edit.replace(node, "Concat", elements, {"axis": axis})
    if axis < 0 or not edit.can_insert("Unsqueeze", graph):
        return False
    edit.transfer_outputs(node, [emit_stack(elements, axis, node, edit)])
    return True
