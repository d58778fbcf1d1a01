"""sort-nodes: nodes are put behind the producers of what they and their subgraphs read.

Keeps: the order of nodes that could stand anywhere.
Leaves: bodies in which a node makes a name that is visible already, as readers of it could mean either value.
"""

from __future__ import annotations

from sardonyx._src.check.bodies import Body
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.renaming import is_plain
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.order import sorted_order


@fix("SX111")
def sort_nodes(fault: Fault) -> str:
    """Sorts the body around the fault, and those around it, as a subgraph may read what is made too late."""
    moved = 0
    body: Body | None = fault.body
    while body is not None:
        if fault.round.is_new("sort", body.record):
            moved += sort(body)
        body = body.outer
    return f"sorted the nodes: {moved} stand elsewhere now" if moved else ""


def sort(body: Body) -> int:
    """Sorts the nodes of a body; how many stand elsewhere now."""
    nodes = body.record.node
    outer = body.outer
    if not is_plain(body) or (outer and any(outer.sees(name, body.holder) for name in body.writers)):
        return 0
    try:
        order = sorted_order(nodes, "")
    except InvalidModel:  # a circle, which another rule reports
        return 0
    moved = sum(i != old for i, old in enumerate(order))
    if moved:
        body.record.node = [nodes[i] for i in order]
    return moved
