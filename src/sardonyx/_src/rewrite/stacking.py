"""Tensors put one behind the other along a new axis."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.axis_lists import with_axes
from sardonyx._src.rewrite.edit import Edit


def stacked(row: Sequence[Value], axis: int, node: Node, edit: Edit) -> Value:
    """The values along a new axis, made before a node in whose graph Unsqueeze and Concat are there."""
    parts: list[Value] = []
    for value in row:
        inputs, attributes = with_axes("Unsqueeze", value, [axis], before=node, edit=edit)
        parts.append(edit.make("Unsqueeze", inputs, attributes, before=node).outputs[0])
    return edit.make("Concat", parts, {"axis": axis}, before=node).outputs[0]
