"""Attribute parameters of functions: what a call binds them to (IR.md, "Functions")."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sardonyx._src.ir.graph import Attribute, Node
from sardonyx._src.ir.model import Function


def bind_parameters(function: Function, arguments: Mapping[str, Attribute]) -> dict[str, Attribute | None]:
    """The parameters of a function in a call with these attributes, the references of the call resolved."""
    return {**function.attributes, **arguments}


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
