"""References of attributes to the parameters of a function (IR.md, "Functions").

A reference takes the value that the call gives; without one, the default of the function; without either, the attribute that
refers is left out, and what it is an attribute of uses a default of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.graph import Attribute, Node

# The parameters of a function in one call; None: neither value nor default.
Bindings = Mapping[str, Attribute | None]


def bound_attributes(node: Node, bindings: Bindings) -> dict[str, Attribute]:
    """The node's attributes with references replaced; one that refers to an unfilled parameter is left out."""
    result: dict[str, Attribute] = {}
    for name, attribute in node.attributes.items():
        actual = resolve_reference(attribute, bindings)
        if actual is not None:
            result[name] = actual
    return result


def resolve_reference(attribute: Attribute, bindings: Bindings) -> Attribute | None:
    """The attribute that a reference stands for; any other attribute itself."""
    return bindings.get(attribute.ref) if attribute.ref else attribute
