"""Which groups keep their element type, because of numbers that do not fit, or of what the operator does."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.traits import OperatorTraits
from sardonyx._src.quantize.precision.element_types import (
    Change,
    limits,
    why_not_number,
    why_not_numbers,
)
from sardonyx._src.quantize.precision.size_values import size_values
from sardonyx._src.quantize.precision.type_groups import TypeGroup, TypeGroups

# Later data may be larger than the calibration data: values must stay below this share of the range.
HEADROOM = 0.5


def keep_operators(groups: TypeGroups) -> None:
    """Keeps nodes whose results depend on the element type in other ways than rounding."""
    for node, members in groups.by_node.items():
        operator = groups.edit.operator_of(node)
        if operator is None:
            continue
        for group in members:
            if why := why_not_operator(node, operator.op, group, groups.change):
                group.keep(why, spreads=True)
        for group in members:
            if is_parameter_group(group, operator.op):
                group.keep("its parameters stay exact", is_reported=False)


def why_not_operator(node: Node, op: OperatorTraits, group: TypeGroup, change: Change) -> str:
    if op.reads_bits:
        return "it reads the bits of elements"
    if op.is_random and not op.moves_data:
        return "it draws random numbers, others for each element type"
    attributes = node.attributes.values()
    if group.reads and any(
        isinstance(a.value, Tensor) and a.value.dtype in change.sources for a in attributes
    ):
        return "it compares with numbers in its attributes"
    if change.narrows:
        for attribute in attributes:
            number = attribute.value
            if attribute.type is not AttributeType.FLOAT or not isinstance(number, float):
                continue
            if why := why_not_number(number, change.target):
                return f"its {attribute.name} {why}"
    return ""


def is_parameter_group(group: TypeGroup, op: OperatorTraits) -> bool:
    """Whether all that a group reads says what to compute, such as scales."""
    slots = [slot for owner, slot in group.reads if isinstance(owner, Node)]
    return bool(slots) and not op.moves_data and all(slot in op.parameters for slot in slots)


def keep_sizes(groups: TypeGroups) -> None:
    """Keeps nodes that compute with sizes."""
    sizes = size_values(groups.edit)
    for group in groups.all:
        if any(value in sizes for value in group.results):
            group.keep("it computes with sizes", spreads=True)


def keep_constants(groups: TypeGroups) -> None:
    """Keeps groups that read a constant which does not fit."""
    reasons: dict[Value, str] = {}
    for group in groups.all:
        for value in group.operands():
            tensor = groups.edit.tensor(value)
            if tensor is None:
                continue
            if value not in reasons:
                numbers = groups.edit.constant(value)
                reasons[value] = "" if numbers is None else why_not_numbers(numbers, groups.change.target)
            if reasons[value]:
                group.keep(f"the constant {value.name!r} does not fit: {reasons[value]}", spreads=True)


def keep_large_values(groups: TypeGroups, largest: Mapping[Value, float]) -> None:
    """Keeps groups that define or read a value which is too large in a run with the calibration data."""
    target = groups.change.target
    end = limits(target).largest
    for group in groups.all:
        for value in (*group.results, *group.operands()):
            if largest.get(value, 0.0) > end * HEADROOM:
                why = f"{value.name!r} reaches {largest[value]:.3g}, where {target.text} ends at {end:.3g}"
                group.keep(why, spreads=True)
