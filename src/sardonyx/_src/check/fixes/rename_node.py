"""rename-node: gives a unique name to a node with the name of another node of its graph."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix


@fix("SX119")
def rename_node(violation: Violation) -> str:
    entries, index = violation.entry()
    node = violation.body.record.node[index]
    assert node is entries[index], "the path leads to a node of the body"
    old, node.name = node.name, violation.fix_pass.fresh(node.name)
    return f"renamed the node from {old!r} to {node.name!r}"
