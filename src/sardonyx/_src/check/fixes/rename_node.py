"""rename-node: a node with the name of another node of its graph gets a name of its own."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix


@fix("SX119")
def rename_node(fault: Fault) -> str:
    entries, index = fault.entry()
    node = fault.body.record.node[index]
    assert node is entries[index], "the path leads to a node of the body"
    old, node.name = node.name, fault.round.fresh(node.name)
    return f"renamed the node from {old!r} to {node.name!r}"
