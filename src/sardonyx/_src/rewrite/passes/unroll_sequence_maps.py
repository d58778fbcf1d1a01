"""unroll-sequence-maps: apply the body of a SequenceMap to each element of a sequence with known elements.

Spec:    SequenceMap-17, SequenceConstruct-11, SequenceEmpty-11, SequenceInsert-11, SequenceErase-11
Before:  g (float[2] x, float[3] z) => (float[] y) {
           s = SequenceConstruct(x, z)
           t = SequenceMap<body = b (float[?] p) => (float[?] q) { q = Neg(p) }>(s)
           y = ConcatFromSequence<axis = 0>(t)
         }
After:   g (float[2] x, float[3] z) => (float[] y) {
           a = Neg(x)  b = Neg(z)  t = SequenceConstruct(a, b)  y = ConcatFromSequence<axis = 0>(t)
         }
Keeps:   sequences that are empty, or that inputs, loops or branches give; large bodies; results exactly.
"""

from __future__ import annotations

from sardonyx._src.ir import Graph, Node, SequenceType, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.sequences import elements_of

MAX_UNROLLED_NODES = 64  # nodes for all elements together


@rewrite(root="SequenceMap", phase="expand")
def unroll_sequence_maps(node: Node, edit: Edit) -> bool:
    attribute = node.attributes.get("body")
    body = None if attribute is None else attribute.value
    if not edit.is_a(node, "SequenceMap") or not isinstance(body, Graph) or node.graph is None:
        return False
    if len(body.inputs) != len(node.inputs) or len(body.outputs) < len(node.outputs):
        return False  # invalid: the node must fail
    rows = rows_of(node, edit)
    if not rows or body.quantization_annotations or not can_construct(body, node.graph, edit):
        return False
    if len(rows) * sum(1 for _ in nodes(body)) > MAX_UNROLLED_NODES:
        return False
    bodies = [edit.copy(body, row, before=node) for row in rows]
    columns = list(zip(*bodies, strict=True))
    results = [edit.make("SequenceConstruct", column, before=node).outputs[0] for column in columns]
    edit.transfer_outputs(node, results[: len(node.outputs)])
    return True


def can_construct(body: Graph, graph: Graph, edit: Edit) -> bool:
    """Whether sequences of the results of a body can be constructed: SequenceConstruct lacks types of SequenceMap (bfloat16)."""
    types = [edit.type(value) for value in body.outputs]
    return all(
        type_ is not None and edit.can_insert("SequenceConstruct", graph, dtype=type_.dtype)
        for type_ in types
    )


def rows_of(node: Node, edit: Edit) -> list[list[Value | None]] | None:
    """The inputs of the body for each element; None if a sequence is not known, or their lengths differ.

    A tensor among the inputs is the same for each element.
    """
    columns: list[list[Value] | Value] = []
    for value in node.inputs:
        if value is None or value.type is None:
            return None
        if not isinstance(value.type, SequenceType):
            columns.append(value)
            continue
        elements = elements_of(value, edit) if value.owner is node.graph else None
        if elements is None:
            return None
        columns.append(elements)
    lengths = {len(column) for column in columns if isinstance(column, list)}
    if len(lengths) != 1:
        return None
    return [[c[i] if isinstance(c, list) else c for c in columns] for i in range(lengths.pop())]
