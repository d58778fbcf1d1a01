"""Pattern matching: a backtracking search upwards from a candidate root node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.pattern import AttributeRef, Pattern, PatternNode


@dataclass(frozen=True, slots=True)
class Match:
    """One match of a pattern: the values, nodes and attributes that its names are bound to."""

    edit: Edit
    pattern: Pattern
    root: Node
    values: Mapping[str, Value | None]
    nodes: Mapping[PatternNode, Node]
    attributes: Mapping[str, object]

    def value(self, name: str) -> Value:
        bound = self.values[name]
        assert bound is not None, f"{name} is an omitted input"
        return bound

    def attribute(self, name: str) -> object:
        """The value bound to `@name`; None for an attribute without value and default."""
        return self.attributes[name]

    def integers(self, name: str) -> tuple[int, ...] | None:
        numbers = self.attributes[name]
        return tuple(int(i) for i in numbers) if isinstance(numbers, tuple) else None

    def constant(self, name: str) -> Array | None:
        return self.edit.constant(self.values[name])

    def scalar(self, name: str) -> float | None:
        return self.edit.scalar(self.values[name])

    def rank(self, name: str) -> int | None:
        return self.edit.rank(self.values[name])


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """The bindings of an unfinished match; immutable, so that the search can backtrack."""

    values: Mapping[str, Value | None]
    nodes: Mapping[PatternNode, Node]
    attributes: Mapping[str, object]


def matches(pattern: Pattern, root: Node, edit: Edit) -> Iterator[Match]:
    """All matches of a pattern with this root node."""
    for partial in PatternMatcher(pattern, root, edit).match_node(
        pattern.root, root, PartialMatch({}, {}, {})
    ):
        if is_self_contained(pattern, partial, edit):
            yield Match(edit, pattern, root, partial.values, partial.nodes, partial.attributes)


def is_self_contained(pattern: Pattern, partial: PartialMatch, edit: Edit) -> bool:
    """Whether the outputs of all nodes but the root are used only inside the match."""
    inside = set(partial.nodes.values())
    for part, node in partial.nodes.items():
        if part is not pattern.root:
            for value in node.outputs:
                if not edit.is_internal(value) or any(reader not in inside for reader, _ in value.uses):
                    return False
    return True


@dataclass(frozen=True, slots=True)
class PatternMatcher:
    """Matches one pattern against the nodes above one root."""

    pattern: Pattern
    root: Node
    edit: Edit

    def match_node(self, part: PatternNode, node: Node, partial: PartialMatch) -> Iterator[PartialMatch]:
        """The extensions of a partial match that bind one pattern node to one node of the model."""
        edit = self.edit
        if part in partial.nodes:
            if partial.nodes[part] is node:
                yield partial
            return
        if (
            node.op_type != part.op_type
            or node.graph is not self.root.graph
            or not self.may_match(part, node)
        ):
            return
        if not edit.is_a(node, part.op_type, part.domain):
            return
        attributes = self.match_attributes(part, node, partial.attributes)
        inputs = list(node.inputs)
        if attributes is None or len(inputs) != len(part.inputs):
            return
        if any(v.name and i >= len(part.outputs) for i, v in enumerate(node.outputs)):
            return
        extended = PartialMatch(partial.values, {**partial.nodes, part: node}, attributes)
        for order in self.operand_orders(node, inputs):
            yield from self.match_inputs(part.inputs, order, extended)

    def may_match(self, part: PatternNode, node: Node) -> bool:
        """Cheap filter: whether each producer that the pattern requires is the operator of some input's producer."""
        operand_types = {v.producer.op_type for v in node.inputs if v is not None and v.producer is not None}
        sources = (self.pattern.producers.get(name) for name in part.inputs)
        return all(
            source is None or source[0].number is not None or source[0].op_type in operand_types
            for source in sources
        )

    def operand_orders(self, node: Node, inputs: Sequence[Value | None]) -> Iterator[Sequence[Value | None]]:
        """The operands in each order that leaves the result unchanged."""
        yield inputs
        operator = self.edit.operator_of(node)
        if (
            len(inputs) == 2
            and inputs[0] is not inputs[1]
            and operator is not None
            and operator.op.commutative
        ):
            yield inputs[::-1]

    def match_inputs(
        self, names: Sequence[str], values: Sequence[Value | None], partial: PartialMatch
    ) -> Iterator[PartialMatch]:
        if not names:
            yield partial
            return
        for extended in self.match_value(names[0], values[0], partial):
            yield from self.match_inputs(names[1:], values[1:], extended)

    def match_value(self, name: str, value: Value | None, partial: PartialMatch) -> Iterator[PartialMatch]:
        """The extensions of a partial match that bind one name to one value."""
        if not name or value is None:
            if not name and value is None:
                yield partial
            return
        if name in partial.values:
            if partial.values[name] is value:
                yield partial
            return
        extended = PartialMatch({**partial.values, name: value}, partial.nodes, partial.attributes)
        source = self.pattern.producers.get(name)
        if source is None:
            yield extended
            return
        part, slot = source
        if part.number is not None:
            if is_number(self.edit.scalar(value), part.number) and self.may_broadcast(value):
                yield extended
        elif value.producer is not None and value.index == slot:
            yield from self.match_node(part, value.producer, extended)

    def may_broadcast(self, constant: Value) -> bool:
        """Whether a constant is a scalar, or the rank of the result is known, which a lost broadcast would change."""
        return self.edit.rank(constant) == 0 or self.edit.rank(self.root.outputs[0]) is not None

    def match_attributes(
        self, part: PatternNode, node: Node, bound: Mapping[str, object]
    ) -> Mapping[str, object] | None:
        """The attribute bindings extended by those of a node; None if an attribute differs from the pattern."""
        operator = self.edit.operator_of(node)
        assert operator is not None, f"{node!r} has a known operator"
        actual = self.edit.attributes(node)
        result = dict(bound)
        for name in operator.schema.attributes:
            expected = part.attributes.get(name)
            actual_value = actual.get(name)
            if isinstance(expected, AttributeRef):
                if expected.name in result and result[expected.name] != actual_value:
                    return None
                result[expected.name] = actual_value
            elif name in part.attributes:
                if not are_equal(actual_value, expected):
                    return None
            elif name in node.attributes and actual_value != decode_default(
                operator.schema.attributes[name].default
            ):
                return None
        if unknown := part.attributes.keys() - operator.schema.attributes.keys():
            return None if unknown else result
        return result


def are_equal(actual: object, expected: object) -> bool:
    return (
        is_number(actual, expected)
        if isinstance(actual, float) and isinstance(expected, float)
        else actual == expected
    )


def decode_default(default: object) -> object:
    return default.decode() if isinstance(default, bytes) else default


def is_number(actual: float | None, expected: float) -> bool:
    """Whether a constant equals a number of the pattern up to the precision of float32 or float16."""
    if actual is None:
        return False
    is_close = abs(actual - expected) <= 2**-20 * abs(expected)
    return actual == expected or is_close or np.float16(expected) == actual
