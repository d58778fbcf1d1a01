"""How values enter and leave the subgraphs of a node: which of them are the same value under several names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Node, Value

Place: TypeAlias = "tuple[Node | Graph, int]"  # a node and an input, or a graph and an output
FIRST_SCAN_WITHOUT_LENGTHS = 9  # before, input 0 of a Scan has the lengths of its sequences


@dataclass(frozen=True, slots=True)
class SubgraphLink:
    """Values that have one type: `reads` are passed on as `results`."""

    reads: list[Place]
    results: list[Value]


def links_of(node: Node, version: int) -> list[SubgraphLink] | None:
    """The links of a node with subgraphs; None if its operator is not known here, or its subgraphs do not match."""
    bodies = node.subgraphs
    match node.op_type if not node.domain else "":
        case "If":
            return branch_links(node)
        case "Loop" if len(bodies) == 1:
            return body_links(node, bodies[0], 2, max(len(node.inputs) - 2, 0), 1)
        case "Scan" if len(bodies) == 1:
            first = 0 if version >= FIRST_SCAN_WITHOUT_LENGTHS else 1
            return body_links(node, bodies[0], first, scan_states(node) - first, 0)
        case "SequenceMap" if len(bodies) == 1:
            return body_links(node, bodies[0], 0, 0, 0)
    return None


def branch_links(node: Node) -> list[SubgraphLink] | None:
    """Each output of an If is that output of the branch that runs."""
    if any(len(branch.outputs) != len(node.outputs) for branch in node.subgraphs):
        return None
    return [
        SubgraphLink([(branch, slot) for branch in node.subgraphs], [output])
        for slot, output in enumerate(node.outputs)
    ]


def scan_states(node: Node) -> int:
    """The number of inputs of a Scan before those that it scans."""
    scanned = node.attributes["num_scan_inputs"].value
    return len(node.inputs) - scanned if isinstance(scanned, int) else 0


def body_links(node: Node, body: Graph, first: int, states: int, skipped: int) -> list[SubgraphLink] | None:
    """The links of a node that runs a body any number of times.

    first: the first of its inputs with a value that the body gets, after inputs that control the iterations.
    states: the number of values that an iteration passes on to the next one.
    skipped: the number of outputs of the body before them.
    """
    offset = len(body.inputs) - (len(node.inputs) - first)
    if offset < 0 or states < 0 or len(body.outputs) != len(node.outputs) + skipped:
        return None
    links = [
        SubgraphLink([(node, slot)], [body.inputs[slot - first + offset]])
        for slot in range(first, len(node.inputs))
    ]
    for slot, output in enumerate(node.outputs):
        inner: Sequence[Place] = [(body, slot + skipped)]
        if slot < states:
            links[slot].reads.extend(inner)
            links[slot].results.append(output)
        else:
            links.append(SubgraphLink(list(inner), [output]))
    return links
