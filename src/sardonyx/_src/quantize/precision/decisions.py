"""Decisions that follow from one another: which groups get the new element type, once some have to keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sardonyx._src.ir import TensorType, Value
from sardonyx._src.quantize.precision.type_groups import Read, TypeGroup, TypeGroups

# Constant elements of nodes between others of the old type, from which on their smaller size is worth two Casts.
LEAST_WEIGHTS = 1 << 10


def settle(groups: TypeGroups) -> None:
    """Spreads reasons over nodes and over values that no Cast converts, then avoids Casts that change nothing."""
    rules = (spread_over_nodes, spread_over_lists, follow_operands, follow_readers, join_islands)
    while any(rule(groups) for rule in rules):
        pass


def spread_over_nodes(groups: TypeGroups) -> bool:
    """A node with numbers that do not fit keeps all of its groups."""
    changed = False
    for members in groups.by_node.values():
        reason = next((group.why for group in members if group.spreads), "")
        for group in members:
            if reason and group.changes:
                group.keep(reason, is_reported=False)
                changed = True
    return changed


def spread_over_lists(groups: TypeGroups) -> bool:
    """Sequences and optionals, which no Cast converts, have one type wherever they are read."""
    changed = False
    values = dict.fromkeys(value for group in groups.all for value in (*group.results, *group.operands()))
    for value in values:
        if isinstance(value.type, TensorType):
            continue
        users = [
            groups.by_value.get(value),
            *(groups.by_read.get(read) for read in readers_of(groups, value)),
        ]
        if any(group is None or not group.changes for group in users):
            for group in users:
                if group is not None and group.changes:
                    group.keep(f"no Cast converts {value.name!r}, which another node keeps")
                    changed = True
    return changed


def readers_of(groups: TypeGroups, value: Value) -> set[Read]:
    """All places at which a value is read."""
    return {*groups.reads.get(value, ()), *value.uses}


def defines_new_type(groups: TypeGroups, value: Value) -> bool | None:
    """Whether a value is defined in the new type; None for a constant, which has any type."""
    if groups.edit.tensor(value) is not None:
        return None
    group = groups.by_value.get(value)
    return group is not None and group.changes


def follow_operands(groups: TypeGroups) -> bool:
    """A group that only reads has the type of the node's results or, without any, of what it reads, if that has one type."""
    changed = False
    for group in groups.all:
        if group.results or not group.changes or group.node is None:
            continue
        partners = [other for other in groups.by_node[group.node] if other.results and not other.attributes]
        types = {defines_new_type(groups, value) for value in group.operands()} - {None}
        if not (all(other.changes for other in partners) if partners else types == {True}):
            group.keep("the results or operands have the old type", is_reported=False)
            changed = True
    return changed


def follow_readers(groups: TypeGroups) -> bool:
    """A result that an attribute gives its type has the old one if a reader needs that: it has more digits."""
    changed = False
    for group in groups.all:
        if group.changes and group.attributes and not all(map(reads_new_type(groups), group.results)):
            group.keep("a reader keeps its type", is_reported=False)
            changed = True
    return changed


def reads_new_type(groups: TypeGroups) -> Callable[[Value], bool]:
    """Whether all readers of a value get the new type."""

    def is_new(value: Value) -> bool:
        readers = [groups.by_read.get(read) for read in readers_of(groups, value)]
        return all(reader is not None and reader.changes for reader in readers)

    return is_new


def join_islands(groups: TypeGroups) -> bool:
    """Nodes between nodes that keep their type keep it as well, unless they have weights: Casts would surround them."""
    islands = [island for island in connected_groups(groups) if is_surrounded(groups, island)]
    for group in (group for island in islands for group in island):
        group.keep("its neighbors keep their type", is_reported=False)
    return bool(islands)


def connected_groups(groups: TypeGroups) -> Iterator[list[TypeGroup]]:
    """The groups that change, in sets that values of the new type connect."""
    seen: set[TypeGroup] = set()
    for first in groups.all:
        if first in seen or not first.changes:
            continue
        island = [first]
        seen.add(first)
        for group in island:
            for other in neighbors(groups, group):
                if other is not None and other.changes and other not in seen:
                    seen.add(other)
                    island.append(other)
        yield island


def neighbors(groups: TypeGroups, group: TypeGroup) -> Iterator[TypeGroup | None]:
    """The groups that define what a group reads, those that read its results, and the others of its node."""
    for value in group.operands():
        if groups.edit.tensor(value) is None:
            yield groups.by_value.get(value)
    for value in group.results:
        yield from (groups.by_read.get(read) for read in readers_of(groups, value))
    if group.node is not None:
        yield from groups.by_node[group.node]


def is_surrounded(groups: TypeGroups, island: Sequence[TypeGroup]) -> bool:
    """Whether groups neither touch inputs and outputs of the model, where Casts are needed, nor compute with weights."""
    operands = [value for group in island for value in group.operands()]
    tensors = [tensor for value in operands if (tensor := groups.edit.tensor(value)) is not None]
    around = [other for group in island for other in neighbors(groups, group)]
    is_inner = all(other is None or other.node is not None for other in (*island, *around))
    if all(other is None or other.changes for other in around):
        return False  # nothing that keeps its type is near
    is_constant = len(tensors) == len(operands)  # then the results are weights of the others
    return is_inner and (is_constant or sum(tensor.size for tensor in tensors) < LEAST_WEIGHTS)
