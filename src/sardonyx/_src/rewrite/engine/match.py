"""Matches of the patterns of passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.matcher import find_matches
from sardonyx._src.rewrite.engine.pattern import Pattern, PatternNode


@dataclass(frozen=True, slots=True)
class Match:
    """One match of a pattern: the values, nodes and attributes to which the names of the pattern are bound."""

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
        """The attribute value bound to `@name`; None for an attribute that is omitted and has no default."""
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


def matches(pattern: Pattern, root: Node, edit: Edit) -> Iterator[Match]:
    """All matches of a pattern with this root node."""
    for match in find_matches(pattern, root, edit):
        yield Match(edit, pattern, root, match.values, match.nodes, match.attributes)
