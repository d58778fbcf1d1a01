"""What faults of structure leave of a model whose types can be told."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sardonyx._src.check.engine import Located
from sardonyx._src.check.places import Places
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.walk import nodes, roots

BESIDE = ("SX01", "SX02", "SX5", "SX9")  # groups of rules about what stands beside the graphs
MOVED = {"SX111", "SX112", "SX115"}  # loading sorts or adds nodes, and places no longer fit
NODE = re.compile(r"(?:.*\.)?node\[\d+\]")


def broken_nodes(found: Iterable[Located]) -> frozenset[str] | None:
    """The paths of nodes with an error; None where an error lies in no node, so that nothing can be relied on."""
    paths = set()
    for one in found:
        if (one.finding.severity or one.rule.severity) != "error" or one.rule.code.startswith(BESIDE):
            continue
        node = NODE.match(path_of(one))
        if node is None or one.rule.code in MOVED:
            return None
        paths.add(node[0])
    return frozenset(paths)


def path_of(one: Located) -> str:
    """The path of a finding from the document on."""
    steps = [
        f"{t.field.name}[{t.index}]" if t.field.repeated else t.field.name
        for t in one.trail.outwards()
        if t.field is not None
    ]
    return ".".join([*reversed(steps), *([one.finding.at] if one.finding.at else [])])


def without_meaning(model: Model, places: Places, broken: frozenset[str]) -> None:
    """Takes the operators from broken nodes, so that nobody knows what they make."""
    if broken:
        for node in [node for root in roots(model) for node in nodes(root)]:
            if places.of(node) in broken:
                node.domain, node.op_type = "", ""
