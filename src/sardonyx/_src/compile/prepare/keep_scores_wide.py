"""Attention scores kept in float32 when a half-precision model computes them as MatMul, Softmax, MatMul.

A fused attention kernel never writes the scores to memory, so it does not round them to half precision either.
"""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.graph import Node

SCORE_OPERATORS = ("Add", "Div", "Mul")  # between the first MatMul and the Softmax: scale and mask


def nodes_kept_in_float32(classes: Mapping[Node, str]) -> set[Node]:
    """The nodes from the first MatMul to the Softmax of every attention whose intermediate values have one consumer."""
    nodes: set[Node] = set()
    for node, propagation in classes.items():
        if node.op_type == "Softmax" and propagation == "computes":
            nodes.update(scores_chain(node, classes))
    return nodes


def scores_chain(softmax: Node, classes: Mapping[Node, str]) -> list[Node]:
    """The Softmax and the nodes back to the MatMul that computes its scores; empty if it is not between two MatMuls."""
    last = sole_consumer(softmax)
    if last is None or last.op_type != "MatMul" or last.inputs[0] is not softmax.outputs[0]:
        return []
    chain = [softmax]
    while (node := producer_of_scores(chain[-1])) is not None and classes.get(node) == "computes":
        chain.append(node)
        if node.op_type == "MatMul":
            return chain
    return []


def producer_of_scores(node: Node) -> Node | None:
    """The one producer among a node's inputs that may compute scores and has no other consumer."""
    producers = [value.producer for value in node.inputs if value is not None]
    candidates = [
        producer
        for producer in producers
        if producer is not None
        and producer.op_type in ("MatMul", *SCORE_OPERATORS)
        and sole_consumer(producer)
    ]
    return candidates[0] if len(candidates) == 1 else None


def sole_consumer(node: Node) -> Node | None:
    """The only consumer of a node with one output, if it is in the same graph."""
    (value,) = node.outputs if len(node.outputs) == 1 else (None,)
    if value is None or len(value.uses) != 1 or value.is_graph_output:
        return None
    consumer = value.uses[0][0]
    return consumer if consumer.graph is node.graph else None
