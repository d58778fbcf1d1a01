"""One change of the element types of a model: groups, reasons, decisions, and the changed copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.dataclass import dataclass
from sardonyx._src.infer.stated_types import all_values
from sardonyx._src.ir import Model, Node, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.quantize.precision.chosen_types import choose_types
from sardonyx._src.quantize.precision.decisions import settle
from sardonyx._src.quantize.precision.element_types import Change
from sardonyx._src.quantize.precision.retyping import Retyping
from sardonyx._src.quantize.precision.type_groups import TypeGroup, TypeGroups
from sardonyx._src.quantize.precision.unfit_groups import (
    keep_constants,
    keep_large_values,
    keep_operators,
    keep_sizes,
)
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.quantize.schemes.scheme import LayerPatterns
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What is changed.

    patterns: the nodes that are.
    keep_types: whether inputs and outputs of the model keep their types.
    largest: the largest magnitude of each value of the model in runs with the calibration data.
    """

    change: Change
    patterns: LayerPatterns
    keep_types: bool
    largest: Mapping[Value, float]


@dataclass(frozen=True, slots=True)
class ChangedModel:
    """A changed copy of a model.

    changed: the positions of the nodes that compute in the new type, among all nodes of main graph and subgraphs.
    kept: the nodes that do not, for a reason that is worth telling.
    """

    model: Model
    changed: tuple[int, ...]
    kept: tuple[KeptLayer, ...]


def change_types(model: Model, rules: TypeRules, forced: Mapping[int, str]) -> ChangedModel:
    """A copy of a model with other element types.

    forced: nodes that keep their type, by position, and why.
    """
    result = model.copy()
    values = dict(zip(all_values(model), all_values(result), strict=True))
    edit = Edit(result)
    groups = TypeGroups(edit, rules.change)
    keep_ports(groups, rules.keep_types)
    ordered = list(nodes(result.graph))
    for position, why in forced.items():
        for group in groups.by_node.get(ordered[position], ()):
            group.keep(why, spreads=True)
    keep_unnamed(groups, rules.patterns)
    choose_types(groups)
    keep_operators(groups)
    if rules.change.narrows:
        keep_sizes(groups)
        keep_constants(groups)
        keep_large_values(groups, {copy: rules.largest.get(value, 0.0) for value, copy in values.items()})
    settle(groups)
    changed = tuple(position for position, node in enumerate(ordered) if is_changed(groups, node))
    kept = tuple(kept_layers(groups))
    Retyping(groups).run()
    return ChangedModel(result, changed, kept)


def keep_ports(groups: TypeGroups, keep_types: bool) -> None:
    """Keeps what is known by its name outside of the nodes."""
    graph = groups.edit.model.graph
    ports = {*graph.inputs, *graph.outputs}
    for group in groups.all:
        if group.node is None and keep_types:
            group.keep("inputs and outputs keep their types", is_reported=False)
        elif any(value in groups.edit.public and value not in ports for value in group.results):
            group.keep("it is known by its name outside of the nodes")


def keep_unnamed(groups: TypeGroups, patterns: LayerPatterns) -> None:
    """Keeps the nodes that the caller does not want to change."""
    for node, members in groups.by_node.items():
        why = patterns.why_not([node.name, *(value.name for value in node.outputs)])
        for group in members:
            if why:
                group.keep(why, spreads=True)


def is_changed(groups: TypeGroups, node: Node) -> bool:
    return any(group.changes and group.results for group in groups.by_node.get(node, ()))


def kept_layers(groups: TypeGroups) -> Iterator[KeptLayer]:
    """The nodes that keep a type, each reason once."""
    seen: set[tuple[str, str]] = set()
    for group in groups.all:
        item = name_of(group), group.why
        if group.is_reported and not group.changes and item not in seen:
            seen.add(item)
            yield KeptLayer(*item)


def name_of(group: TypeGroup) -> str:
    """The name of a group's node, or of what it computes; for an input or output of the model, the name of this."""
    if group.node is not None:
        return group.node.name or next((value.name for value in group.node.outputs if value.name), "")
    return next(value.name for value in (*group.results, *group.operands()))
