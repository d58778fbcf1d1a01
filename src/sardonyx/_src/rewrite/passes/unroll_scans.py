"""unroll-scans: a Scan over a few slices is replaced by copies of its body.

Spec:    Scan-9 -11 -16 -19 -21 -23 -24 -25, Gather-1 -11 -13, Unsqueeze-1 -11 -13 -21 -23 -24 -25, Concat-4 -11 -13
Before:  g (float[2] s, float[1,2] x) => (float[] t, float[] y) {
           t, y = Scan<num_scan_inputs = 1, body = b (float[2] p, float[2] v) => (float[2] q, float[2] w) {
             q = Add(p, v)  w = Neg(q)
           }>(s, x)
         }
After:   g (float[2] s, float[1,2] x) => (float[] t, float[] y) <int64 i = {0}, int64[1] k = {0}> {
           v = Gather<axis = 0>(x, i)  t = Add(s, v)  w = Neg(t)  u = Unsqueeze(w, k)  y = Concat<axis = 0>(u)
         }
Keeps:   scans that are long or large, over no slice, or over a number of slices that is not known; every bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.stacking import stacked

MOST = 32  # nodes of all copies together


@rewrite(root="Scan", phase="expand")
def unroll_scans(node: Node, edit: Edit) -> bool:
    attribute = node.attributes.get("body")
    body = None if attribute is None else attribute.value
    if not edit.is_a(node, "Scan") or not isinstance(body, Graph) or body.quantization_annotations:
        return False
    length = slices(node, edit)
    if length is None or length * sum(1 for _ in nodes(body)) > MOST or not can_be_written(node, edit):
        return False
    unroll(node, body, length, edit)
    return True


def slices(node: Node, edit: Edit) -> int | None:
    """How many slices there are, if all scanned inputs agree on that."""
    found: set[object] = set()
    for value, axis in scanned(node, edit):
        shape = edit.shape(value)
        found.add(shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None)
    (length, *others) = found or {None}
    return length if not others and isinstance(length, int) and length > 0 else None


def scanned(node: Node, edit: Edit) -> list[tuple[Value | None, int]]:
    """The inputs that are cut into slices, and their axes."""
    count = edit.attributes(node)["num_scan_inputs"]
    assert isinstance(count, int), "num_scan_inputs is an integer"
    inputs = node.inputs[len(node.inputs) - count :]
    return list(zip(inputs, listed(node, "scan_input_axes", count, edit), strict=True))


def listed(node: Node, name: str, count: int, edit: Edit) -> Sequence[int]:
    found = edit.attributes(node).get(name)
    return tuple(int(n) for n in found) if isinstance(found, tuple) and found else (0,) * count


def can_be_written(node: Node, edit: Edit) -> bool:
    assert node.graph is not None, "a node that is asked about is in a graph"
    return all(edit.has(op_type, node.graph) for op_type in ("Gather", "Unsqueeze", "Concat"))


def unroll(node: Node, body: Graph, length: int, edit: Edit) -> None:
    cuts = scanned(node, edit)
    states: list[Value | None] = list(node.inputs[: len(node.inputs) - len(cuts)])
    backward = listed(node, "scan_input_directions", len(cuts), edit)
    rows: list[list[Value]] = [[] for _ in body.outputs[len(states) :]]
    for step in range(length):
        pieces = [
            piece(value, axis, length - 1 - step if back else step, node, edit)
            for (value, axis), back in zip(cuts, backward, strict=True)
        ]
        results = edit.copy(body, [*states, *pieces], before=node)
        states = list(results[: len(states)])
        for row, value in zip(rows, results[len(states) :], strict=True):
            row.append(value)
    edit.hand_over_all(node, [*states, *joined(node, rows, len(states), edit)])


def piece(value: Value | None, axis: int, place: int, node: Node, edit: Edit) -> Value:
    index = edit.constant_of(np.array(place, np.int64), f"{node.name or 'scan'}/i", before=node)
    return edit.make("Gather", [value, index], {"axis": axis}, before=node).outputs[0]


def joined(node: Node, rows: Sequence[list[Value]], states: int, edit: Edit) -> list[Value | None]:
    """What the iterations hand out, along the axes and in the order that the node says."""
    axes = listed(node, "scan_output_axes", len(rows), edit)
    prepended = listed(node, "scan_output_directions", len(rows), edit)
    outputs = node.outputs[states:]
    return [
        stacked(row[::-1] if front else row, axis, node, edit) if value.name else None
        for row, axis, front, value in zip(rows, axes, prepended, outputs, strict=False)
    ]
