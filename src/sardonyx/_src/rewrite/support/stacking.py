"""Stacking tensors along a new axis."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.axes import with_axes


def emit_stack(row: Sequence[Value], axis: int, node: Node, edit: Edit) -> Value:
    """Emit the values stacked along a new axis, before a node; its graph must be able to hold Unsqueeze and Concat."""
    parts: list[Value] = []
    for value in row:
        inputs, attributes = with_axes("Unsqueeze", value, [axis], before=node, edit=edit)
        parts.append(edit.make("Unsqueeze", inputs, attributes, before=node).outputs[0])
    return edit.make("Concat", parts, {"axis": axis}, before=node).outputs[0]
