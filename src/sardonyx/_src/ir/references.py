"""References of attributes to the parameters of a function (IR.md, "Functions").

A reference stands for the attribute with which the function is called or, if the call has none, for the default of the
parameter.  If there is neither, the referring attribute is left out, so that its node uses the default of the operator.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.graph import Attribute, Node

# The values of a function's attribute parameters in one call; None: neither value nor default.
Bindings = Mapping[str, Attribute | None]


def bound_attributes(node: Node, bindings: Bindings) -> dict[str, Attribute]:
    """The node's attributes with references replaced; a reference to a parameter without value is left out."""
    result: dict[str, Attribute] = {}
    for name, attribute in node.attributes.items():
        actual = resolve_reference(attribute, bindings)
        if actual is not None:
            result[name] = actual
    return result


def resolve_reference(attribute: Attribute, bindings: Bindings) -> Attribute | None:
    """The attribute that a reference stands for; any other attribute itself."""
    return bindings.get(attribute.ref) if attribute.ref else attribute
