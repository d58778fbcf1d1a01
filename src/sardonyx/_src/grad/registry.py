"""Look-up of gradient and decomposition facets of operators.

A decomposition facet replaces a node by others that have gradients.  The modules with the facets of an operator are imported
at its first look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.ir import Value
from sardonyx._src.ops.api import GRADIENTS, GradientFacet, Operator
from sardonyx._src.ops.backward_step import BackwardStep
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.ops.registry import find

INDEX = Index(f"{__package__}.operators", Path(__file__).parent / "operators")

# Returns the outputs of a node, computed by new nodes before it; None for a node that its gradient facet differentiates.
DecompositionFacet: TypeAlias = Callable[[BackwardStep], "Sequence[Value | None] | None"]
DECOMPOSITIONS: dict[tuple[str, str, int], DecompositionFacet] = {}


def find_gradient(domain: str, op_type: str, version: int) -> GradientFacet | None:
    """The gradient facet of a version of an operator, or None."""
    import_facets(domain, op_type)
    return GRADIENTS.get((domain, op_type, version))


def find_decomposition(domain: str, op_type: str, version: int) -> DecompositionFacet | None:
    """The decomposition facet of a version of an operator, or None."""
    import_facets(domain, op_type)
    return DECOMPOSITIONS.get((domain, op_type, version))


def import_facets(domain: str, op_type: str) -> None:
    """Imports the modules that concern an operator."""
    find(domain, op_type)  # imports a plugin that defines the operator, which registers its gradient, too
    INDEX.import_for(qualified_name(domain, op_type))


def operator(name: str, domain: str = "") -> Operator:
    """The operator that a module gives a gradient facet."""
    op = find(domain, name)
    assert op is not None, f"there is no operator {name!r}"
    return op


def decomposition(
    name: str, version: int, domain: str = ""
) -> Callable[[DecompositionFacet], DecompositionFacet]:
    """Registers how a version of an operator is replaced by others before it is differentiated."""

    def register(facet: DecompositionFacet) -> DecompositionFacet:
        key = (domain, name, version)
        assert key not in DECOMPOSITIONS, f"{name}-{version} has two decompositions"
        DECOMPOSITIONS[key] = facet
        return facet

    return register
