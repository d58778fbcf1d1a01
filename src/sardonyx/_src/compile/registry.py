"""Which operators have a lowering: a function that turns a node into steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.ops.index import Index, name_of

if TYPE_CHECKING:
    from sardonyx._src.compile.lowering import Lowering
    from sardonyx._src.compile.nodes import Call

Facet: TypeAlias = "Callable[[Call, Lowering], bool]"
Key: TypeAlias = tuple[str, str, int]  # domain, operator, version
INDEX = Index(f"{__name__.rpartition('.')[0]}.lower", Path(__file__).parent / "lower")
FACETS: dict[Key, Facet] = {}
SHIPPED: dict[Key, Facet] = {}  # those of operators that have been asked for, as they were then


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


def facet_of(domain: str, name: str, version: int) -> Facet | None:
    """The lowering of an operator in a version; None if there is none."""
    if INDEX.bring(name_of(domain, name)):
        SHIPPED.update((key, facet) for key, facet in FACETS.items() if key[:2] == (domain, name))
    return FACETS.get((domain, name, version))


def departures() -> tuple[object, ...]:
    """The lowerings that a caller has added, or put in the place of one of ours."""
    ours = f"{INDEX.package}."
    found: list[object] = []
    for key, facet in list(FACETS.items()):
        if facet is not SHIPPED.get(key, facet if facet.__module__.startswith(ours) else None):
            found += [key, facet]
    return *found, *(key for key in SHIPPED if key not in FACETS)
