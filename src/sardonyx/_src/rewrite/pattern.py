"""Patterns: what the Before and After texts of a pass say, in ONNX textual syntax.

A name that no node of the text makes stands for any value, and for the same value wherever it is written again.  An
attribute `axis = @a` stands for any value of it; an attribute that is not written has to have its default.
`c = Constant<value_float = 0.5> ()` stands for a constant of one element, 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sardonyx._src.proto.messages import AttributeProto, GraphProto, NodeProto
from sardonyx._src.proto.text import from_text


@dataclass(frozen=True, slots=True)
class Ref:
    """An attribute's value by its name in the pattern."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class PatternNode:
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]

    @property
    def number(self) -> float | None:
        """The number that a Constant of the pattern stands for."""
        if self.op_type != "Constant" or self.domain:
            return None
        value = self.attributes.get("value_float", self.attributes.get("value_int"))
        return float(value) if isinstance(value, int | float) else None


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Nodes in order; the last one is the root, whose outputs are the pattern's."""

    nodes: tuple[PatternNode, ...]
    makers: Mapping[str, tuple[PatternNode, int]]

    @property
    def root(self) -> PatternNode:
        return self.nodes[-1]

    def operators(self) -> set[tuple[str, str]]:
        return {(n.domain, n.op_type) for n in self.nodes if n.number is None}


@cache
def parsed(text: str) -> Pattern:
    """The pattern that a text of nodes is; raises TextError."""
    record = from_text(f"pattern () => () {{ {text} }}", GraphProto)
    found = tuple(read(node) for node in record.node)
    makers = {name: (node, i) for node in found for i, name in enumerate(node.outputs) if name}
    return Pattern(found, makers)


def read(node: NodeProto) -> PatternNode:
    attributes = {a.name: value(a) for a in node.attribute}
    return PatternNode(node.op_type, node.domain, tuple(node.input), tuple(node.output), attributes)


def value(attribute: AttributeProto) -> object:
    """An attribute of the text as facets take it."""
    if attribute.ref_attr_name:
        return Ref(attribute.ref_attr_name)
    for field, found in attribute.present():
        match field.name:
            case "f" | "i":
                return found
            case "s":
                assert isinstance(found, bytes | memoryview), f"{attribute.name} is no string"
                return bytes(found).decode()
            case "ints" | "floats":
                assert isinstance(found, list), f"{attribute.name} is no list"
                return tuple(found)
    raise AssertionError(
        f"attribute {attribute.name!r} of a pattern is a number, a string or a list of numbers"
    )
