"""Which operators have a lowering: a function that turns a node into steps."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import sardonyx.compile.lower as lower

if TYPE_CHECKING:
    from sardonyx.compile.lowering import Lowering
    from sardonyx.compile.nodes import Call

Facet: TypeAlias = "Callable[[Call, Lowering], bool]"
FACETS: dict[tuple[str, str, int], Facet] = {}


def lowers(name: str, *versions: int, domain: str = "") -> Callable[[Facet], Facet]:
    """Says that a function lowers an operator in exactly these versions.

    It is given the node and the lowering so far.  It answers whether it took the node: puts down steps and binds the
    outputs to tensors, or has done nothing, and the node becomes a call of its reference kernel.  It takes a node
    only if it can prove that shapes and types fit, so that what it puts down never leaves its buffers.
    """

    def add(facet: Facet) -> Facet:
        for version in versions:
            key = (domain, name, version)
            assert key not in FACETS, f"{name}-{version} has two lowerings"
            FACETS[key] = facet
        return facet

    return add


@cache
def facets() -> dict[tuple[str, str, int], Facet]:
    """The lowerings of all files below `lower`."""
    for module in pkgutil.iter_modules(lower.__path__):
        importlib.import_module(f"{lower.__name__}.{module.name}")
    return FACETS
