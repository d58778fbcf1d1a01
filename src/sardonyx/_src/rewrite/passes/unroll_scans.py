"""unroll-scans: unroll a Scan with a small constant length.

Spec:    Scan-9 -11 -16 -19 -21 -23 -24 -25, Gather-1 -11 -13, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Concat-4 -11 -13
Before:  g (float[2] s, float[1,2] x) => (float[] t, float[] y) {
           t, y = Scan<num_scan_inputs = 1, body = b (float[2] p, float[2] v) => (float[2] q, float[2] w) {
             q = Add(p, v)  w = Neg(q)
           }>(s, x)
         }
After:   g (float[2] s, float[1,2] x) => (float[] t, float[] y) <int64 i = {0}, int64[1] k = {0}> {
           v = Gather<axis = 0>(x, i)  t = Add(s, v)  w = Neg(t)  u = Unsqueeze(w, k)  y = Concat<axis = 0>(u)
         }
Keeps:   scans that are long or large, or of unknown or zero length, or whose states may change their shapes; results exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.passes.unroll_loops import MAX_UNROLLED_NODES, is_concatenable
from sardonyx._src.rewrite.support.stacking import emit_stack


@rewrite(root="Scan", phase="expand")
def unroll_scans(node: Node, edit: Edit) -> bool:
    attribute = node.attributes.get("body")
    body = None if attribute is None else attribute.value
    if not edit.is_a(node, "Scan") or not isinstance(body, Graph) or body.quantization_annotations:
        return False
    length = slice_count(node, edit)
    if (
        length is None
        or length * sum(1 for _ in nodes(body)) > MAX_UNROLLED_NODES
        or not can_unroll(node, body, edit)
    ):
        return False
    unroll(node, body, length, edit)
    return True


def slice_count(node: Node, edit: Edit) -> int | None:
    """The number of slices, if all scan inputs agree; None otherwise."""
    lengths: set[object] = set()
    for value, axis in scan_inputs(node, edit):
        shape = edit.shape(value)
        lengths.add(shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None)
    (length, *others) = lengths or {None}
    return length if not others and isinstance(length, int) and length > 0 else None


def scan_inputs(node: Node, edit: Edit) -> list[tuple[Value | None, int]]:
    """The scan inputs and their axes."""
    count = edit.attributes(node)["num_scan_inputs"]
    assert isinstance(count, int), "num_scan_inputs is an integer"
    inputs = node.inputs[len(node.inputs) - count :]
    return list(zip(inputs, int_list(node, "scan_input_axes", count, edit), strict=True))


def int_list(node: Node, name: str, count: int, edit: Edit) -> Sequence[int]:
    numbers = edit.attributes(node).get(name)
    return tuple(int(n) for n in numbers) if isinstance(numbers, tuple) and numbers else (0,) * count


def can_unroll(node: Node, body: Graph, edit: Edit) -> bool:
    assert node.graph is not None, "the node is in a graph"
    attributes = edit.attributes(node)
    directions = [attributes.get(f"scan_{name}_directions") for name in ("input", "output")]
    if any(isinstance(flags, tuple) and not {*flags} <= {0, 1} for flags in directions):
        return False  # invalid: the node must fail
    states = len(node.inputs) - len(scan_inputs(node, edit))
    if not all(
        keeps_shape(*pair, edit) for pair in zip(node.inputs[:states], body.outputs[:states], strict=True)
    ):
        return False
    if not all(is_concatenable(value, node, edit) for value in body.outputs[states:]):
        return False
    return all(edit.can_insert(op_type, node.graph) for op_type in ("Gather", "Unsqueeze", "Concat"))


def keeps_shape(state: Value | None, result: Value, edit: Edit) -> bool:
    """Whether a state has the same shape in all iterations.

    Scan refuses a state that changes its shape, which the copies of the body would accept.
    """
    shape = edit.shape(state)
    return shape is not None and None not in shape and shape == edit.shape(result)


def unroll(node: Node, body: Graph, length: int, edit: Edit) -> None:
    scans = scan_inputs(node, edit)
    states: list[Value | None] = list(node.inputs[: len(node.inputs) - len(scans)])
    backward = int_list(node, "scan_input_directions", len(scans), edit)
    rows: list[list[Value]] = [[] for _ in body.outputs[len(states) :]]
    for step in range(length):
        parts = [
            slice_at(value, axis, length - 1 - step if back else step, node, edit)
            for (value, axis), back in zip(scans, backward, strict=True)
        ]
        results = edit.copy(body, [*states, *parts], before=node)
        states = list(results[: len(states)])
        for row, value in zip(rows, results[len(states) :], strict=True):
            row.append(value)
    edit.transfer_outputs(node, [*states, *scan_outputs(node, rows, len(states), edit)])


def slice_at(value: Value | None, axis: int, position: int, node: Node, edit: Edit) -> Value:
    index = edit.make_constant(np.array(position, np.int64), f"{node.name or 'scan'}/i", before=node)
    return edit.make("Gather", [value, index], {"axis": axis}, before=node).outputs[0]


def scan_outputs(node: Node, rows: Sequence[list[Value]], states: int, edit: Edit) -> list[Value | None]:
    """Stack the scan outputs along their axes and in their directions."""
    axes = int_list(node, "scan_output_axes", len(rows), edit)
    prepended = int_list(node, "scan_output_directions", len(rows), edit)
    outputs = node.outputs[states:]
    return [
        emit_stack(row[::-1] if front else row, axis, node, edit) if value.name else None
        for row, axis, front, value in zip(rows, axes, prepended, outputs, strict=False)
    ]
