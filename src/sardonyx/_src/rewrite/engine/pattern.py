"""Patterns: the Before and After texts of a pass, in ONNX textual syntax.

A name that no node of the text defines matches any value, and the same value wherever it recurs.  An attribute
`axis = @a` matches any value; an attribute that is not written must have its default.
`c = Constant<value_float = 0.5> ()` matches a constant of one element, 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.proto.messages import AttributeProto, GraphProto, NodeProto


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """An attribute variable of a pattern: `@name`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class PatternNode:
    """One node of a pattern."""

    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]

    @property
    def number(self) -> float | None:
        """The number that a Constant of the pattern matches; None for any other node."""
        if self.op_type != "Constant" or self.domain:
            return None
        attribute_value = self.attributes.get("value_float", self.attributes.get("value_int"))
        return float(attribute_value) if isinstance(attribute_value, int | float) else None


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Nodes in topological order; the last is the root, whose outputs are the pattern's outputs.

    producers: for each value that a node computes, the node and the position of the output.
    sources: for each node, those that must compute inputs of it; Constants that match numbers are left out.
    """

    nodes: tuple[PatternNode, ...]
    producers: Mapping[str, tuple[PatternNode, int]]
    sources: Mapping[PatternNode, Sequence[PatternNode]]

    @property
    def root(self) -> PatternNode:
        return self.nodes[-1]

    @property
    def root_sources(self) -> frozenset[str]:
        """The operators that must compute inputs of the root."""
        return frozenset(node.op_type for node in self.sources[self.root])

    def operators(self) -> set[tuple[str, str]]:
        return {(n.domain, n.op_type) for n in self.nodes if n.number is None}


@cache
def parse_pattern(text: str) -> Pattern:
    """Parse the nodes of a Before or After text; raises TextError."""
    from sardonyx._src.proto.text import from_text  # lazy: patterns are parsed for few models

    record = from_text(f"pattern () => () {{ {text} }}", GraphProto)
    nodes = tuple(parse_node(node) for node in record.node)
    producers = {name: (node, i) for node in nodes for i, name in enumerate(node.outputs) if name}
    computed = {name: node for name, (node, _) in producers.items() if node.number is None}
    sources = {
        node: tuple(computed[name] for name in dict.fromkeys(node.inputs) if name in computed)
        for node in nodes
    }
    return Pattern(nodes, producers, sources)


def parse_node(node: NodeProto) -> PatternNode:
    attributes = {a.name: attribute_value(a) for a in node.attribute}
    return PatternNode(node.op_type, node.domain, tuple(node.input), tuple(node.output), attributes)


def attribute_value(attribute: AttributeProto) -> object:
    """The Python value of an attribute of the text."""
    if attribute.ref_attr_name:
        return AttributeRef(attribute.ref_attr_name)
    for field, payload in attribute.present():
        match field.name:
            case "f" | "i":
                return payload
            case "s":
                assert isinstance(payload, bytes | memoryview), f"{attribute.name} must be a string"
                return bytes(payload).decode()
            case "ints" | "floats":
                assert isinstance(payload, list), f"{attribute.name} must be a list"
                return tuple(payload)
    what = f"attribute {attribute.name!r} of a pattern must be a number, a string or a list of numbers"
    raise InputError(what, name=attribute.name)
