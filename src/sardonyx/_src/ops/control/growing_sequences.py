"""Sequences that grow in a Loop: insertions that may extend the list of the iteration before instead of copying it.

A copy for each of n iterations would take time and memory traffic proportional to n * n.
"""

from __future__ import annotations

from sardonyx._src.ir.graph import Graph, Node, Value

READERS = {"SequenceLength", "SequenceAt"}  # which keep no reference to a sequence


def growing_sequences(body: Graph) -> dict[int, tuple[Node, ...]]:
    """By the number of a carried value of a Loop: the insertions that turn it into its next value, in order.

    Only those of which nothing else can see the sequence: each state is read by one insertion and, before that, by operators
    that keep no reference; and the last is nothing but the next value.  The caller must own the first list.
    """
    if body.parent is None or body.parent.op_type != "Loop" or body.parent.domain:
        return {}
    order = {node: i for i, node in enumerate(body.nodes)}
    chains = ((i, chain_of_insertions(value, order)) for i, value in enumerate(body.inputs[2:]))
    outputs = body.outputs[1:]
    return {
        i: chain
        for i, chain in chains
        if chain and i < len(outputs) and outputs[i] is chain[-1].outputs[0] and is_last_output(chain, body)
    }


def is_last_output(chain: tuple[Node, ...], body: Graph) -> bool:
    """Whether one output of the body is the sequence after all insertions, and none is an earlier one."""
    sequences = [chain[0].inputs[0], *(node.outputs[0] for node in chain)]
    return sum(value in sequences for value in body.outputs) == 1


def chain_of_insertions(value: Value, order: dict[Node, int]) -> tuple[Node, ...]:
    """The insertions that a sequence passes through, one after the other."""
    chain: list[Node] = []
    while (node := sole_insertion(value, order)) is not None:
        chain.append(node)
        value = node.outputs[0]
    is_only_read = all(is_reader(node, order) for node, _ in value.uses)
    return tuple(chain) if is_only_read else ()


def sole_insertion(value: Value, order: dict[Node, int]) -> Node | None:
    """The insertion that reads a sequence after all other nodes that do, which only read it."""
    insertions = [node for node, slot in value.uses if node.op_type == "SequenceInsert" and slot == 0]
    if len(insertions) != 1 or insertions[0] not in order or insertions[0].domain:
        return None
    (insertion,) = insertions
    others = [node for node, slot in value.uses if (node, slot) != (insertion, 0)]
    is_last = all(is_reader(node, order) and order[node] < order[insertion] for node in others)
    return insertion if is_last else None


def is_reader(node: Node, order: dict[Node, int]) -> bool:
    """Whether a node of the body itself reads a sequence and keeps no reference to it."""
    return node in order and node.op_type in READERS and not node.domain
