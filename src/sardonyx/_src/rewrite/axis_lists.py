"""Axes as operators take them: an attribute in older versions, a constant input in newer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.rewrite.edit import Edit


def axes_of(node: Node, rank: int | None, edit: Edit) -> tuple[int, ...] | None:
    """The axes of a node, counted from the front, in order; () where it names none, None where they are not known.

    `rank` is that of the tensor whose axes they are.
    """
    found = edit.meaning(node)
    assert found is not None, f"{node!r} is of a known operator"
    if "axes" in found.schema.attributes:
        given = edit.attributes(node).get("axes") or ()
        axes = [int(axis) for axis in given] if isinstance(given, tuple) else []
    else:
        value = node.inputs[1] if len(node.inputs) > 1 else None
        known = edit.constant(value)
        if value is not None and known is None:
            return None
        axes = [] if known is None else [int(axis) for axis in known.reshape(-1)]
    if rank is None:
        return None if axes else ()
    if not all(-rank <= axis < rank for axis in axes):
        return None
    chosen = sorted({axis % rank for axis in axes})
    return tuple(chosen) if len(chosen) == len(axes) else None


def with_axes(
    op_type: str, x: Value | None, axes: Sequence[int], *, before: Node, edit: Edit
) -> tuple[list[Value | None], Mapping[str, object]]:
    """Inputs and attributes that hand axes to an operator of the opset that holds at a place."""
    graph = before.graph
    assert graph is not None, f"{before!r} is in no graph"
    found = edit.operator("", op_type, edit.imports(graph)[""])
    assert found is not None, f"{op_type} is there"
    if "axes" in found.schema.attributes:
        return [x], {"axes": list(axes)}
    name = f"{before.name or before.outputs[0].name}/axes"
    return [x, edit.constant_of(np.array(axes, np.int64), name, before=before)], {}
