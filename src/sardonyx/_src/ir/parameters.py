"""Attribute parameters of functions, and the values that a call gives them (IR.md, "Functions")."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sardonyx._src.ir import Attribute, Function, Node


def bind_parameters(function: Function, arguments: Mapping[str, Attribute]) -> dict[str, Attribute | None]:
    """The parameters of a function with their values in a call, or else their defaults; None: neither.

    arguments: the attributes of the call, in which references are already resolved.
    """
    return {**function.attributes, **arguments}


def filled_parameters(function: Function) -> set[str]:
    """The parameters with a default, which have a value in every call."""
    return {name for name, default in function.attributes.items() if default is not None}


def undecided_defaults(call: Node, callee: Function, filled: Collection[str]) -> Iterator[str]:
    """The attributes of a call inside a function for which it depends on the outer call whether the callee's default is used.

    These are references to parameters of the enclosing function that not every call of it sets (that are not `filled`),
    for attributes with a default in the callee.  Such a call cannot be inlined: where the parameter has no value, the
    references in the body would be left out instead of using the default.
    """
    for name, attribute in call.attributes.items():
        if attribute.ref and attribute.ref not in filled and callee.attributes.get(name) is not None:
            yield name
