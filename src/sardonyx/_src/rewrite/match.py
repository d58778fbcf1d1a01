"""Looking for a pattern: a search upwards from the node that may be its root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.pattern import Pattern, PatternNode, Ref


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a pattern stands: what its names mean there."""

    edit: Edit
    pattern: Pattern
    root: Node
    values: Mapping[str, Value | None]
    nodes: Mapping[PatternNode, Node]
    attributes: Mapping[str, object]

    def value(self, name: str) -> Value:
        found = self.values[name]
        assert found is not None, f"{name} is left out"
        return found

    def attribute(self, name: str) -> object:
        """The value that `@name` stands for; None for an attribute without value and default."""
        return self.attributes[name]

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attributes[name]
        return tuple(int(i) for i in found) if isinstance(found, tuple) else None

    def constant(self, name: str) -> Array | None:
        return self.edit.constant(self.values[name])

    def scalar(self, name: str) -> float | None:
        return self.edit.scalar(self.values[name])

    def rank(self, name: str) -> int | None:
        return self.edit.rank(self.values[name])


@dataclass(frozen=True, slots=True)
class Found:
    """What is known so far in a search; nothing of it is changed, so that a search can go back."""

    values: Mapping[str, Value | None]
    nodes: Mapping[PatternNode, Node]
    attributes: Mapping[str, object]


def matches(pattern: Pattern, root: Node, edit: Edit) -> Iterator[Match]:
    """The ways in which a pattern stands above a node."""
    for found in Search(pattern, root, edit).node(pattern.root, root, Found({}, {}, {})):
        if is_private(pattern, found, edit):
            yield Match(edit, pattern, root, found.values, found.nodes, found.attributes)


def is_private(pattern: Pattern, found: Found, edit: Edit) -> bool:
    """Whether what the inner nodes make is read within the pattern alone."""
    inside = set(found.nodes.values())
    for part, node in found.nodes.items():
        if part is not pattern.root:
            for value in node.outputs:
                if not edit.is_free(value) or any(reader not in inside for reader, _ in value.uses):
                    return False
    return True


@dataclass(frozen=True, slots=True)
class Search:
    pattern: Pattern
    root: Node
    edit: Edit

    def node(self, part: PatternNode, node: Node, found: Found) -> Iterator[Found]:
        """The ways in which one node of the model can be one of the pattern."""
        edit = self.edit
        if part in found.nodes:
            if found.nodes[part] is node:
                yield found
            return
        if node.op_type != part.op_type or node.graph is not self.root.graph or not self.can_be(part, node):
            return
        if not edit.is_a(node, part.op_type, part.domain):
            return
        attributes = self.attributes(part, node, found.attributes)
        inputs = list(node.inputs)
        if attributes is None or len(inputs) != len(part.inputs):
            return
        if any(v.name and i >= len(part.outputs) for i, v in enumerate(node.outputs)):
            return
        here = Found(found.values, {**found.nodes, part: node}, attributes)
        for order in self.orders(node, inputs):
            yield from self.inputs(part.inputs, order, here)

    def can_be(self, part: PatternNode, node: Node) -> bool:
        """A quick look: whether every operator that the pattern has above a node makes one of its inputs."""
        made = {v.producer.op_type for v in node.inputs if v is not None and v.producer is not None}
        makers = (self.pattern.makers.get(name) for name in part.inputs)
        return all(m is None or m[0].number is not None or m[0].op_type in made for m in makers)

    def orders(self, node: Node, inputs: Sequence[Value | None]) -> Iterator[Sequence[Value | None]]:
        """The operands in the orders in which the operator means the same."""
        yield inputs
        meaning = self.edit.meaning(node)
        if len(inputs) == 2 and inputs[0] is not inputs[1] and meaning is not None and meaning.op.commutative:
            yield inputs[::-1]

    def inputs(self, names: Sequence[str], values: Sequence[Value | None], found: Found) -> Iterator[Found]:
        if not names:
            yield found
            return
        for one in self.value(names[0], values[0], found):
            yield from self.inputs(names[1:], values[1:], one)

    def value(self, name: str, value: Value | None, found: Found) -> Iterator[Found]:
        """The ways in which a value can be what a name stands for."""
        if not name or value is None:
            if not name and value is None:
                yield found
            return
        if name in found.values:
            if found.values[name] is value:
                yield found
            return
        here = Found({**found.values, name: value}, found.nodes, found.attributes)
        maker = self.pattern.makers.get(name)
        if maker is None:
            yield here
            return
        part, slot = maker
        if part.number is not None:
            if is_number(self.edit.scalar(value), part.number) and self.may_widen(value):
                yield here
        elif value.producer is not None and value.index == slot:
            yield from self.node(part, value.producer, here)

    def may_widen(self, constant: Value) -> bool:
        """Whether a constant has no axes, or it would be seen that its axes are missing in the result."""
        return self.edit.rank(constant) == 0 or self.edit.rank(self.root.outputs[0]) is not None

    def attributes(
        self, part: PatternNode, node: Node, bound: Mapping[str, object]
    ) -> Mapping[str, object] | None:
        """The attributes' names with what the node has for them; None where it has something else."""
        meaning = self.edit.meaning(node)
        assert meaning is not None, f"{node!r} is of a known operator"
        actual = self.edit.attributes(node)
        result = dict(bound)
        for name in meaning.schema.attributes:
            wanted = part.attributes.get(name)
            value = actual.get(name)
            if isinstance(wanted, Ref):
                if wanted.name in result and result[wanted.name] != value:
                    return None
                result[wanted.name] = value
            elif name in part.attributes:
                if not is_same(value, wanted):
                    return None
            elif name in node.attributes and value != plain_default(meaning.schema.attributes[name].default):
                return None
        if unknown := part.attributes.keys() - meaning.schema.attributes.keys():
            return None if unknown else result
        return result


def is_same(found: object, wanted: object) -> bool:
    return (
        is_number(found, wanted)
        if isinstance(found, float) and isinstance(wanted, float)
        else found == wanted
    )


def plain_default(default: object) -> object:
    return default.decode() if isinstance(default, bytes) else default


def is_number(found: float | None, wanted: float) -> bool:
    """Whether a constant is the number of a pattern, as closely as 32-bit or narrower floats hold it."""
    if found is None:
        return False
    return found == wanted or abs(found - wanted) <= 2**-20 * abs(wanted) or np.float16(wanted) == found
