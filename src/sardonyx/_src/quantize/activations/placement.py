"""Where activations are quantized: at the operands of layers, and through operators that only move or select elements.

No pair of QuantizeLinear and DequantizeLinear is between a layer and the elementwise operators after it, which kernels apply
to the sums: the pair follows them, at the operand of the next layer.  Values that an operator only moves share the scale of
what it reads (Reshape, Transpose, Concat, MaxPool and others), so that it can move the integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value
from sardonyx._src.quantize.activations.layers import ProductLayer
from sardonyx._src.rewrite.engine.view import View

SELECTIONS = ("MaxPool",)  # its results are elements of its operand
# Operators after a layer that the ends of an integer range stand for, if that range begins or ends where they clip.
SATURATING = ("Relu", "Clip")


@dataclass(frozen=True, slots=True, eq=False)
class ValueGroup:
    """Values of one scale.

    values: in the order of the graph's edges, backwards.
    sources: those that no operator moves from another one of them; the range of the group is theirs.
    """

    values: Sequence[Value]
    sources: Sequence[Value]


def wanted_values(
    view: View, layers: Iterable[ProductLayer], *, results_too: bool = False
) -> dict[Value, None]:
    """The operands of layers; with `results_too` also their results, after a Relu or Clip."""
    values: dict[Value, None] = {}
    for layer in layers:
        values[layer.operand] = None
        if results_too and (result := quantizable_result(view, layer)) is not None:
            values[result] = None
    return values


def quantizable_result(view: View, layer: ProductLayer) -> Value | None:
    value = layer.node.outputs[0]
    if not view.is_internal(value):
        return None
    if view.has_one_use(value) and value.uses[0][0].op_type in SATURATING:
        value = value.uses[0][0].outputs[0]
    return value if view.is_internal(value) else None


def group_values(view: View, values: Iterable[Value]) -> list[ValueGroup]:
    """The groups of the values values, and of those that operators move to them."""
    parents: dict[Value, Value] = {}
    sources: dict[Value, None] = {}
    pending = list(values)
    for value in pending:  # which grows
        if value in parents:
            continue
        parents[value] = value
        moved = moved_operands(view, value)
        if not moved:
            sources[value] = None
        pending += moved
    for value in parents:
        for operand in moved_operands(view, value):
            parents[root_of(parents, operand)] = root_of(parents, value)
    members: dict[Value, list[Value]] = {}
    for value in parents:
        members.setdefault(root_of(parents, value), []).append(value)
    return [
        ValueGroup(tuple(values), tuple(v for v in values if v in sources)) for values in members.values()
    ]


def root_of(parents: dict[Value, Value], value: Value) -> Value:
    while parents[value] is not value:
        value = parents[value]
    return value


def moved_operands(view: View, value: Value) -> list[Value]:
    """The operands whose elements a value's node moves to it; none if it computes, or also has constants of floats."""
    node = value.producer
    if node is None or node.graph is not view.model.graph or not keeps_scale(view, node):
        return []
    operands = [operand for operand in node.inputs if is_float(view, operand)]
    if any(view.tensor(operand) is not None and view.uniform_number(operand) != 0 for operand in operands):
        return []
    return [operand for operand in operands if operand is not None and view.tensor(operand) is None]


def keeps_scale(view: View, node: Node) -> bool:
    operator = view.operator_of(node)
    if operator is None or node.device_configurations:
        return False
    return operator.op.is_data_movement(node) or (node.op_type in SELECTIONS and not node.domain)


def is_float(view: View, value: Value | None) -> bool:
    value_type = view.type(value)
    return value_type is not None and value_type.dtype is DataType.FLOAT
