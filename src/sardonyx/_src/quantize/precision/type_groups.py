"""Groups of values that must have one element type: those that a signature binds to one type variable.

A group *reads* values, which may be cast before, and *defines* others.  A value has the element type of the group that defines
it, and a Cast follows it where groups of another type read it.  Subgraphs join the values that they pass on
(`subgraph_groups`); a group of its own holds each input and each output of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from sardonyx._src.convert.signature_check import type_word
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Attribute, Graph, Node, Value
from sardonyx._src.ir.walk import graphs
from sardonyx._src.quantize.precision.element_types import Change, is_changed, with_dtype
from sardonyx._src.quantize.precision.subgraph_groups import links_of
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import ResolvedOperator
from sardonyx._src.schema import OpSchema, Parameter

Read: TypeAlias = "tuple[Node | Graph, int]"  # a node and an input, or a graph and an output


@dataclass(slots=True, eq=False)
class TypeGroup:
    """Values of one element type.

    node: whose signature binds them; None for an input or output of the model.
    changes: whether they get the new element type.
    attributes: state the type of results that no input determines.
    why: why they do not; "" if nothing prevents it.
    is_reported: whether the reason is worth a line of the report.
    spreads: whether it concerns all groups of the node.
    """

    node: Node | None
    reads: list[Read] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    changes: bool = True
    attributes: dict[str, Attribute] = field(default_factory=dict)
    why: str = ""
    is_reported: bool = False
    spreads: bool = False

    def keep(self, why: str, *, is_reported: bool = True, spreads: bool = False) -> None:
        """Keeps the element type, for the first reason that is given."""
        if self.changes:
            self.changes, self.why, self.is_reported = False, why, is_reported
        self.spreads |= spreads

    def operands(self) -> Iterator[Value]:
        for read in self.reads:
            value = value_read(read)
            if value is not None:
                yield value


class TypeGroups:
    """The groups of a main graph and its subgraphs.

    by_read, by_value: the group that reads at a place, and the one that defines a value.
    reads: the places of all groups at which a value is read.
    """

    def __init__(self, edit: Edit, change: Change) -> None:
        self.edit, self.change = edit, change
        self.all: list[TypeGroup] = []
        self.by_read: dict[Read, TypeGroup] = {}
        self.by_value: dict[Value, TypeGroup] = {}
        self.by_node: dict[Node, list[TypeGroup]] = {}
        self.reads: dict[Value, list[Read]] = {}
        main = edit.model.graph
        for value in main.inputs:
            if edit.tensor(value) is None:
                self.add(TypeGroup(None), (), (value,))
        for graph in graphs(main):
            for node in graph.nodes:
                self.add_node(node)
        for slot in range(len(main.outputs)):
            self.add(TypeGroup(None), [(main, slot)], ())

    def is_affected(self, value: Value | None) -> bool:
        return value is not None and is_changed(value.type, self.change.sources)

    def add(
        self, group: TypeGroup, reads: list[Read] | tuple[()], results: tuple[Value, ...] | list[Value]
    ) -> TypeGroup:
        """Adds to a group the reads and results with a type that changes."""
        reads_here = [read for read in reads if self.is_affected(value_read(read))]
        results_here = [value for value in results if value.name and self.is_affected(value)]
        if not (group.reads or group.results) and (reads_here or results_here):
            self.all.append(group)
            if group.node is not None:
                self.by_node.setdefault(group.node, []).append(group)
        group.reads += reads_here
        group.results += results_here
        self.by_read.update(dict.fromkeys(reads_here, group))
        for read in reads_here:
            if (value := value_read(read)) is not None:
                self.reads.setdefault(value, []).append(read)
        self.by_value.update(dict.fromkeys(results_here, group))
        return group

    def merge(self, group: TypeGroup, other: TypeGroup) -> None:
        """Moves what a group reads and defines to another group of its node."""
        self.all.remove(group)
        if group.node is not None:
            self.by_node[group.node].remove(group)
        other.reads += group.reads
        other.results += group.results
        self.by_read.update(dict.fromkeys(group.reads, other))
        self.by_value.update(dict.fromkeys(group.results, other))
        if group.why:
            other.keep(group.why, is_reported=group.is_reported, spreads=group.spreads)

    def add_node(self, node: Node) -> None:
        """Adds the groups of a node."""
        if self.edit.constant_tensor(node) is not None:
            return  # each reader gets a constant of its type
        operator = self.edit.operator_of(node)
        if operator is None:
            self.add_opaque(node, "no signature of its operator is known, or the node does not match it")
        elif node.subgraphs:
            self.add_links(node, operator)
        elif any(self.is_nested(value) for value in (*node.inputs, *node.outputs)):
            self.add_joint(node, operator)
        else:
            self.add_bound(node, operator)

    def is_nested(self, value: Value | None) -> bool:
        """Whether a value is a sequence or optional, whose element type several type variables state."""
        return self.is_affected(value) and value is not None and self.edit.type(value) is None

    def add_opaque(self, node: Node, why: str) -> None:
        group = self.add(TypeGroup(node), reads_of(node), node.outputs)
        for graph in node.subgraphs:
            self.add(group, [(graph, slot) for slot in range(len(graph.outputs))], graph.inputs)
        group.keep(why)

    def add_links(self, node: Node, operator: ResolvedOperator) -> None:
        """Adds the groups of a node with subgraphs."""
        links = links_of(node, operator.version)
        if links is None:
            self.add_opaque(node, "its subgraphs have types that only the operator knows")
            return
        for link in links:
            group = self.add(TypeGroup(node), link.reads, link.results)
            for slot, value in enumerate(node.inputs):
                if (node, slot) in link.reads:
                    self.require_type(group, operator.schema, operator.schema.input(slot), value)
            for slot, value in enumerate(node.outputs):
                if value in link.results:
                    self.require_type(group, operator.schema, operator.schema.output(slot), value)

    def add_joint(self, node: Node, operator: ResolvedOperator) -> None:
        """Adds one group for all values of a node."""
        group = self.add(TypeGroup(node), reads_of(node), node.outputs)
        for slot, value in enumerate(node.inputs):
            self.require_type(group, operator.schema, operator.schema.input(slot), value)
        for slot, value in enumerate(node.outputs):
            self.require_type(group, operator.schema, operator.schema.output(slot), value)

    def add_bound(self, node: Node, operator: ResolvedOperator) -> None:
        """Adds a group for each type variable of a node."""
        schema = operator.schema
        groups: dict[object, TypeGroup] = {}
        for slot, value in enumerate(node.inputs):
            parameter = schema.input(slot)
            if parameter is not None and value is not None:
                key = parameter.type if parameter.homogeneous else slot
                group = self.add(groups.setdefault(key, TypeGroup(node)), [(node, slot)], ())
                self.require_type(group, schema, parameter, value)
        for slot, value in enumerate(node.outputs):
            parameter = schema.output(slot)
            if parameter is not None and value.name:
                group = self.add(groups.setdefault(parameter.type, TypeGroup(node)), (), (value,))
                self.require_type(group, schema, parameter, value)

    def require_type(
        self, group: TypeGroup, schema: OpSchema, parameter: Parameter | None, value: Value | None
    ) -> None:
        """Keeps the type of a group if the signature does not allow the new one for a parameter."""
        if value is None or not value.name:
            return
        if value.type is None:
            group.keep(f"the type of {value.name!r} is not known")
        elif parameter is not None and self.is_affected(value):
            word = type_word(with_dtype(value.type, self.change.target))
            if word not in schema.allowed_types(parameter):
                what = f"{schema.name}-{schema.since_version} has no {self.change.target.text}"
                group.keep(f"{what} for {parameter.name!r}")


def reads_of(node: Node) -> list[Read]:
    return [(node, slot) for slot in range(len(node.inputs))]


def value_read(read: Read) -> Value | None:
    """The value that a node or graph reads at a place."""
    owner, slot = read
    return owner.inputs[slot] if isinstance(owner, Node) else owner.outputs[slot]
