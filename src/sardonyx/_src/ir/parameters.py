"""Attribute parameters of functions: what a call binds them to, and what references to them mean.

A reference in the body of a function takes the value that the call gives; without one, the default of the function;
without either, the attribute that refers is left out, and what it is an attribute of uses a default of its own (IR.md,
"Functions").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sardonyx._src.ir.graph import Attribute, Node
from sardonyx._src.ir.model import Function

Bindings = Mapping[
    str, Attribute | None
]  # the parameters of a function in one call; None: neither value nor default


def bind_parameters(function: Function, arguments: Mapping[str, Attribute]) -> dict[str, Attribute | None]:
    """The parameters of a function in a call with these attributes, the references of the call resolved."""
    return {**function.attributes, **arguments}


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


def filled_parameters(function: Function) -> set[str]:
    """The parameters that have a default, so that they have a value in every call."""
    return {name for name, default in function.attributes.items() if default is not None}


def undecided_defaults(call: Node, callee: Function, filled: Collection[str]) -> Iterator[str]:
    """The attributes of a call in a function for which each call of that function decides whether the callee's default
    holds: they refer to parameters that are not `filled`.

    Such a call cannot be replaced by the body of the callee, where the references would be left out, and the default
    with them.
    """
    for name, attribute in call.attributes.items():
        if attribute.ref and attribute.ref not in filled and callee.attributes.get(name) is not None:
            yield name
