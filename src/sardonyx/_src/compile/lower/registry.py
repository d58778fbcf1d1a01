"""Registry of lowerings: for each operator version, the function that emits the steps of a node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.ops.index import Index, qualified_name

if TYPE_CHECKING:
    from sardonyx._src.compile.lower.lowering import Lowering
    from sardonyx._src.compile.prepare.bound_node import BoundNode

LoweringFacet: TypeAlias = "Callable[[BoundNode, Lowering], bool]"
Key: TypeAlias = tuple[str, str, int]  # domain, operator, version
INDEX = Index(f"{__name__.rpartition('.')[0]}.operators", Path(__file__).parent / "operators")
FACETS: dict[Key, LoweringFacet] = {}
SHIPPED: dict[Key, LoweringFacet] = {}  # the project's own, for each operator that was looked up


def lowers(name: str, *versions: int, domain: str = "") -> Callable[[LoweringFacet], LoweringFacet]:
    """Registers a function that lowers an operator in exactly these versions.

    The function receives the bound node and the lowering.  It returns True after emitting steps and binding the outputs
    to tensors, or False without side effects; the node then becomes a fallback operation.  It may accept a node only if
    shapes and types are proved or guarded, so that no step accesses memory outside its buffers.
    """

    def add(facet: LoweringFacet) -> LoweringFacet:
        for version in versions:
            key = (domain, name, version)
            assert key not in FACETS, f"{name}-{version} has two lowerings"
            FACETS[key] = facet
        return facet

    return add


def facet_of(domain: str, name: str, version: int) -> LoweringFacet | None:
    """The lowering of an operator in a version; None if there is none."""
    if INDEX.import_for(qualified_name(domain, name)):
        SHIPPED.update((key, facet) for key, facet in FACETS.items() if key[:2] == (domain, name))
    return FACETS.get((domain, name, version))


def has_lowering(domain: str, name: str, version: int) -> bool:
    """Whether an operator can be lowered in a version."""
    return facet_of(domain, name, version) is not None


def user_lowerings() -> tuple[object, ...]:
    """Lowerings that a caller registered, replaced or removed, as parts of a cache key."""
    ours = f"{INDEX.package}."
    changed: list[object] = []
    for key, facet in list(FACETS.items()):
        if facet is not SHIPPED.get(key, facet if facet.__module__.startswith(ours) else None):
            changed += [key, facet]
    return *changed, *(key for key in SHIPPED if key not in FACETS)
