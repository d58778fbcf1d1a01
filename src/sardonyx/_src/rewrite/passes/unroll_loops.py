"""unroll-loops: unroll a Loop with a small constant trip count.

Spec:    Loop-1 -11 -13 -16 -19 -21 -23 -24 -25, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Concat-4 -11 -13
Before:  g (float[2] x) => (float[] y) <int64 n = {2}> {
           y = Loop<body = b (int64 i, bool c, float[2] p) => (bool d, float[2] q) { d = Identity(c)  q = Neg(p) }>(n, , x)
         }
After:   g (float[2] x) => (float[] y) { q = Neg(x)  y = Neg(q) }
Keeps:   loops that a condition can end, that are long or large, or have no iteration; results exactly.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Graph, Node, TensorType, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.control.bodies import head_shapes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.stacking import emit_stack
from sardonyx._src.schema import lookup

MAX_UNROLLED_NODES = 32  # nodes of all iterations together


@rewrite(root="Loop", phase="expand")
def unroll_loops(node: Node, edit: Edit) -> bool:
    attribute = node.attributes.get("body")
    body = None if attribute is None else attribute.value
    if not edit.is_a(node, "Loop") or not isinstance(body, Graph) or len(node.inputs) < 1:
        return False
    if len(body.inputs) != max(len(node.inputs), 2):
        return False  # invalid: the node must fail
    count = trip_count(node, edit)
    if count is None or not never_ends_early(node, body, edit) or body.quantization_annotations:
        return False
    if count * sum(1 for _ in nodes(body)) > MAX_UNROLLED_NODES or not can_stack_outputs(node, body, edit):
        return False
    unroll(node, body, count, edit)
    return True


def trip_count(node: Node, edit: Edit) -> int | None:
    known = edit.elements(node.inputs[0])
    if known is None or known.size != 1 or known.dtype == np.object_:
        return None
    count = int(known.reshape(-1)[0])
    return count if count > 0 else None


def never_ends_early(node: Node, body: Graph, edit: Edit) -> bool:
    """Whether no condition can end the loop: there is none, or it is always true."""
    condition = node.inputs[1] if len(node.inputs) > 1 else None
    if condition is None:
        return True
    result = body.outputs[0]
    is_passed_through = result is body.inputs[1] or (
        result.producer is not None
        and result.producer.op_type == "Identity"
        and result.producer.inputs[0] is body.inputs[1]
    )
    return is_true(condition, edit) and (is_passed_through or is_true(result, edit))


def is_true(value: Value, edit: Edit) -> bool:
    known = edit.elements(value)
    return known is not None and known.dtype == np.bool_ and bool(known.all())


def can_stack_outputs(node: Node, body: Graph, edit: Edit) -> bool:
    """Whether the scan outputs of the iterations can be stacked."""
    scans = node.outputs[len(body.inputs) - 2 :]
    if not any(v.name for v in scans):
        return True
    assert node.graph is not None, "the node is in a graph"
    tensors = all(is_concatenable(v, node, edit) for v in body.outputs[len(body.inputs) - 1 :])
    return tensors and edit.can_insert("Unsqueeze", node.graph) and edit.can_insert("Concat", node.graph)


def is_concatenable(value: Value, node: Node, edit: Edit) -> bool:
    """Whether a value is a tensor of an element type that Concat accepts; Concat lacks some narrow types."""
    assert node.graph is not None, "the node is in a graph"
    concat = lookup("", "Concat", edit.imports(node.graph)[""])
    if concat is None or not isinstance(value.type, TensorType):
        return False
    return f"tensor({value.type.dtype.text})" in concat.allowed_types(concat.inputs[0])


def unroll(node: Node, body: Graph, count: int, edit: Edit) -> None:
    carried: list[Value | None] = list(node.inputs[2:])
    carried += [None] * (len(body.inputs) - 2 - len(carried))
    scans: list[list[Value]] = [[] for _ in body.outputs[len(body.inputs) - 1 :]]
    shapes = head_shapes(body)
    for i in range(count):
        number = edit.make_constant(np.full(shapes[0], i, np.int64), f"{node.name or 'loop'}/i", before=node)
        condition = edit.make_constant(np.full(shapes[1], True), f"{node.name or 'loop'}/going", before=node)
        results = edit.copy(body, [number, condition, *carried], before=node)
        carried = list(results[1 : 1 + len(carried)])
        for row, value in zip(scans, results[1 + len(carried) :], strict=True):
            row.append(value)
    outputs = [
        *carried,
        *(
            emit_stack(row, 0, node, edit) if v.name else None
            for row, v in zip(scans, node.outputs[len(carried) :], strict=False)
        ),
    ]
    edit.transfer_outputs(node, outputs)
