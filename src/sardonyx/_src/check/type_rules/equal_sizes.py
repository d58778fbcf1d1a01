"""Input sizes that an operator requires to be equal, as constraints on dimension variables."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.type_rules.subjects import TypedNode
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import DimPair


def equal_size_pairs(typed_node: TypedNode) -> Iterator[DimPair]:
    """Pairs of sizes that are equal in every run, at least one of them symbolic."""
    op = find(typed_node.schema.domain, typed_node.schema.name)
    if op is None or op.equal_dims is None:
        return
    for a, b in op.equal_dims(typed_node.inference):
        if a != b and (isinstance(a, Expr) or isinstance(b, Expr)):
            yield a, b
