"""The axes of an operator: an attribute in older versions, a constant input in newer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.edit import Edit


def axes_of(node: Node, rank: int | None, edit: Edit) -> tuple[int, ...] | None:
    """The axes of a node, sorted and nonnegative; () if it lists none, None if they are unknown.

    `rank`: the rank of the tensor to which the axes belong.
    """
    operator = edit.operator_of(node)
    assert operator is not None, f"{node!r} has a known operator"
    if "axes" in operator.schema.attributes:
        listed = edit.attributes(node).get("axes") or ()
        axes = [int(axis) for axis in listed] if isinstance(listed, tuple) else []
    else:
        value = node.inputs[1] if len(node.inputs) > 1 else None
        data = edit.constant(value)
        if value is not None and data is None:
            return None
        axes = [] if data is None else [int(axis) for axis in data.reshape(-1)]
    if rank is None:
        return None if axes else ()
    if not all(-rank <= axis < rank for axis in axes):
        return None
    normalized = sorted({axis % rank for axis in axes})
    return tuple(normalized) if len(normalized) == len(axes) else None


def with_axes(
    op_type: str, x: Value | None, axes: Sequence[int], *, before: Node, edit: Edit
) -> tuple[list[Value | None], Mapping[str, object]]:
    """The inputs and attributes of a node with these axes, in the form that the imported opset requires."""
    graph = before.graph
    assert graph is not None, f"{before!r} is in no graph"
    operator = edit.operator("", op_type, edit.imports(graph)[""])
    assert operator is not None, f"{op_type} exists in every opset"
    if "axes" in operator.schema.attributes:
        return [x], {"axes": list(axes)}
    name = f"{before.name or before.outputs[0].name}/axes"
    return [x, edit.make_constant(np.array(axes, np.int64), name, before=before)], {}
