"""Numbers that are computed from sizes of tensors alone: positions, scales and lengths, which half precision would round."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.traits import OperatorTraits
from sardonyx._src.rewrite.engine.view import View


def size_values(view: View) -> set[Value]:
    """The values of the main graph and its subgraphs that depend on sizes and constants alone, and on a size."""
    derived: set[Value] = set()
    for node in nodes(view.model.graph):
        operator = view.operator_of(node)
        if operator is None or node.subgraphs:
            continue
        if operator.op.reads_shape or depends_on_sizes(view, node, operator.op, derived):
            derived.update(node.outputs)
    return derived


def depends_on_sizes(view: View, node: Node, op: OperatorTraits, derived: set[Value]) -> bool:
    data = [node.inputs[slot] for slot in data_inputs(node, op)]
    given = [value for value in data if value is not None and view.tensor(value) is None]
    return bool(given) and all(value in derived for value in given)


def data_inputs(node: Node, op: OperatorTraits) -> Sequence[int]:
    """The inputs whose elements the results are computed from; those that only say what to compute if there are no others."""
    slots = [slot for slot in range(len(node.inputs)) if slot != op.sizes_input]
    data = [slot for slot in slots if slot not in op.parameters]
    return data or slots
