"""Look-up of gradient facets; the modules that concern an operator are imported at its first look-up."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.ops.api import GRADIENTS, GradientFacet, Operator
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.ops.registry import find

INDEX = Index(f"{__package__}.operators", Path(__file__).parent / "operators")


def find_gradient(domain: str, op_type: str, version: int) -> GradientFacet | None:
    """The gradient facet of a version of an operator, or None."""
    find(domain, op_type)  # a caller's operator brings its own
    INDEX.import_for(qualified_name(domain, op_type))
    return GRADIENTS.get((domain, op_type, version))


def operator(name: str, domain: str = "") -> Operator:
    """The operator that a module gives a gradient facet."""
    op = find(domain, name)
    assert op is not None, f"there is no operator {name!r}"
    return op
