"""sort-nodes: moves nodes after the producers of the values that they and their subgraphs read.

Keeps: the relative order of independent nodes.
Leaves: bodies in which a node redefines a visible name, since its readers could mean either value.
"""

from __future__ import annotations

from sardonyx._src.check.engine.body import BodyScope
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.renaming import has_unique_names
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.topological_order import topological_order


@fix("SX111")
def sort_nodes(violation: Violation) -> str:
    """Sorts the body and the outer bodies, since a subgraph may read an outer value before it is defined."""
    moved = 0
    body: BodyScope | None = violation.body
    while body is not None:
        if violation.fix_pass.is_new("sort", body.record):
            moved += sort_body(body)
        body = body.outer
    return f"sorted the nodes: {moved} moved" if moved else ""


def sort_body(body: BodyScope) -> int:
    """Sorts the nodes of a body; returns the number that moved."""
    nodes = body.record.node
    outer = body.outer
    if not has_unique_names(body) or (
        outer and any(outer.is_visible(name, body.outer_node) for name in body.producers)
    ):
        return 0
    try:
        order = topological_order(nodes, "")
    except InvalidModel:  # a cycle, which another rule reports
        return 0
    moved = sum(i != old for i, old in enumerate(order))
    if moved:
        body.record.node = [nodes[i] for i in order]
    return moved
