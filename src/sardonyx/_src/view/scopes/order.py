"""The order of nodes in which producers come first, and the values that are alive between them."""

from __future__ import annotations

from itertools import accumulate

from sardonyx._src.view.page_data import NONE, GraphData


def producers_of(graph: GraphData) -> list[list[int]]:
    """The nodes whose results each node reads, its nested graphs included."""
    nodes, producer = graph["nodes"], graph["values"]["producer"]
    result: list[list[int]] = []
    start = 0
    for end in nodes["inputEnds"]:
        inputs = nodes["inputs"][start:end]
        result.append([producer[value] for value in inputs if value != NONE and producer[value] != NONE])
        start = end
    return result


def topological_order(producers: list[list[int]]) -> list[int]:
    """The nodes with producers before their readers, else in the order of the file; nodes of a cycle come in some order.

    A file that is sorted, as most are, keeps its order.
    """
    if all(p < node for node, inputs in enumerate(producers) for p in inputs):
        return list(range(len(producers)))
    state = [0] * len(producers)  # 0: not visited, 1: visited, 2: in the order
    order: list[int] = []
    for root in range(len(producers)):
        stack = [root]
        while stack:
            node = stack[-1]
            pending = [p for p in producers[node] if not state[p]] if not state[node] else []
            state[node] = state[node] or 1
            if pending:
                stack += reversed(pending)
                continue
            stack.pop()
            if state[node] == 1:
                state[node] = 2
                order.append(node)
    return order


def constant_nodes(graph: GraphData, producers: list[list[int]], order: list[int]) -> list[bool]:
    """Whether each node is constant: it reads only initializers and results of constant nodes.

    Operators are not considered, such as random ones.
    """
    nodes, values = graph["nodes"], graph["values"]
    fed = {v for v, tensor in enumerate(values["tensor"]) if tensor == NONE and values["producer"][v] == NONE}
    result = [False] * len(producers)
    for node in order:
        start = nodes["inputEnds"][node - 1] if node else 0
        inputs = nodes["inputs"][start : nodes["inputEnds"][node]]
        result[node] = all(result[p] for p in producers[node]) and fed.isdisjoint(inputs)
    return result


def move_constants(order: list[int], producers: list[list[int]], is_constant: list[bool]) -> list[int]:
    """The order with each constant node directly before its first reader: exporters write all constants first."""
    result: list[int] = []
    placed = [False] * len(order)
    for root in (*(n for n in order if not is_constant[n]), *(n for n in order if is_constant[n])):
        stack = [root]
        while stack:
            node = stack.pop()
            if placed[node]:
                continue
            pending = [p for p in producers[node] if is_constant[p] and not placed[p] and p != node]
            if pending and len(stack) <= len(order):
                stack += [node, *reversed(pending)]
            else:
                placed[node] = True
                result.append(node)
    return result


def live_values(order: list[int], producers: list[list[int]]) -> list[int]:
    """For each position, the number of earlier nodes whose results are read at this position or later.

    There is one more entry than nodes: the last one is for the end.
    """
    position = {node: i for i, node in enumerate(order)}
    changes = [0] * (len(order) + 2)
    last = [-1] * len(order)
    for node, inputs in enumerate(producers):
        for p in inputs:
            last[position[p]] = max(last[position[p]], position[node])
    for start, end in enumerate(last):
        if end > start:
            changes[start + 1] += 1
            changes[end + 1] -= 1
    return list(accumulate(changes))[: len(order) + 1]
