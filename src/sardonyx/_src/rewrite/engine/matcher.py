"""Pattern matching: a backtracking search upwards from a candidate root node, over any graph that answers queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node, Value
from sardonyx._src.rewrite.engine.pattern import AttributeRef, Pattern, PatternNode
from sardonyx._src.rewrite.engine.view import ResolvedOperator


class GraphQueries(Protocol):
    """The queries of the matcher about a graph; for passes `Edit` answers them, in the compiler a scope of the partition."""

    def operator_of(self, node: Node) -> ResolvedOperator | None:
        """The node's operator; None if it is unknown or the node does not match its schema."""

    def is_a(self, node: Node | None, op_type: str, domain: str = "") -> bool:
        """Whether a node has this operator, in a supported version."""

    def attributes(self, node: Node) -> Mapping[str, object]:
        """The attributes of a node with a known operator, with defaults filled in."""

    def is_internal(self, value: Value) -> bool:
        """Whether a value may disappear with the nodes of a match, if only they read it."""

    def scalar(self, value: Value | None) -> float | None:
        """The number in a constant of one real element."""

    def rank(self, value: Value | None) -> int | None:
        """The rank of a tensor; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """The values, nodes and attributes to which the names of a pattern are bound; immutable, so that the search can backtrack."""

    values: Mapping[str, Value | None]
    nodes: Mapping[PatternNode, Node]
    attributes: Mapping[str, object]


def find_matches(pattern: Pattern, root: Node, graph: GraphQueries) -> Iterator[PatternMatch]:
    """All matches of a pattern with this root node whose inner values are used only inside the match."""
    if not may_match(pattern, pattern.root, root):
        return
    matcher = PatternMatcher(pattern, root, graph)
    for match in matcher.match_node(pattern.root, root, PatternMatch({}, {}, {})):
        if is_self_contained(pattern, match, graph):
            yield match


def may_match(pattern: Pattern, part: PatternNode, node: Node) -> bool:
    """A cheap filter: whether the operators that the pattern requires above a node are there, in any order of operands."""
    for source in pattern.sources[part]:
        for value in node._inputs:
            above = None if value is None else value.producer
            if above is not None and above.op_type == source.op_type and may_match(pattern, source, above):
                break
        else:
            return False
    return True


def is_self_contained(pattern: Pattern, partial: PatternMatch, graph: GraphQueries) -> bool:
    """Whether the outputs of all nodes but the root are used only inside the match."""
    inside = set(partial.nodes.values())
    for part, node in partial.nodes.items():
        if part is not pattern.root:
            for value in node.outputs:
                if not graph.is_internal(value) or any(reader not in inside for reader, _ in value.uses):
                    return False
    return True


@dataclass(frozen=True, slots=True)
class PatternMatcher:
    """Matches one pattern against the nodes above one root."""

    pattern: Pattern
    root: Node
    graph: GraphQueries

    def match_node(self, part: PatternNode, node: Node, partial: PatternMatch) -> Iterator[PatternMatch]:
        """The extensions of a partial match that bind one pattern node to one node of the model."""
        graph = self.graph
        if part in partial.nodes:
            if partial.nodes[part] is node:
                yield partial
            return
        if node.op_type != part.op_type or node.graph is not self.root.graph:
            return
        if not graph.is_a(node, part.op_type, part.domain):
            return
        attributes = self.match_attributes(part, node, partial.attributes)
        inputs = list(node.inputs)
        if attributes is None or len(inputs) != len(part.inputs):
            return
        if any(v.name and i >= len(part.outputs) for i, v in enumerate(node.outputs)):
            return
        extended = PatternMatch(partial.values, {**partial.nodes, part: node}, attributes)
        for order in self.operand_orders(node, inputs):
            yield from self.match_inputs(part.inputs, order, extended)

    def operand_orders(self, node: Node, inputs: Sequence[Value | None]) -> Iterator[Sequence[Value | None]]:
        """The operands in each order that leaves the result unchanged."""
        yield inputs
        operator = self.graph.operator_of(node)
        if (
            len(inputs) == 2
            and inputs[0] is not inputs[1]
            and operator is not None
            and operator.op.commutative
        ):
            yield inputs[::-1]

    def match_inputs(
        self, names: Sequence[str], values: Sequence[Value | None], partial: PatternMatch
    ) -> Iterator[PatternMatch]:
        if not names:
            yield partial
            return
        for extended in self.match_value(names[0], values[0], partial):
            yield from self.match_inputs(names[1:], values[1:], extended)

    def match_value(self, name: str, value: Value | None, partial: PatternMatch) -> Iterator[PatternMatch]:
        """The extensions of a partial match that bind one name to one value."""
        if not name or value is None:
            if not name and value is None:
                yield partial
            return
        if name in partial.values:
            if partial.values[name] is value:
                yield partial
            return
        extended = PatternMatch({**partial.values, name: value}, partial.nodes, partial.attributes)
        source = self.pattern.producers.get(name)
        if source is None:
            yield extended
            return
        part, slot = source
        if part.number is not None:
            if is_number(self.graph.scalar(value), part.number) and self.may_broadcast(value):
                yield extended
        elif value.producer is not None and value.index == slot:
            yield from self.match_node(part, value.producer, extended)

    def may_broadcast(self, constant: Value) -> bool:
        """Whether replacing a constant cannot lose a broadcast unnoticed.

        That is so for a scalar, and if the rank of the result is known: a lost broadcast would change it.
        """
        return self.graph.rank(constant) == 0 or self.graph.rank(self.root.outputs[0]) is not None

    def match_attributes(
        self, part: PatternNode, node: Node, bound: Mapping[str, object]
    ) -> Mapping[str, object] | None:
        """The attribute bindings extended by those of a node; None if an attribute differs from the pattern."""
        operator = self.graph.operator_of(node)
        assert operator is not None, f"{node!r} has a known operator"
        actual = self.graph.attributes(node)
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
