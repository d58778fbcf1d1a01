"""Scores of attention that a file spells as MatMul, Softmax, MatMul: kernels hold them in float32 and round none of them."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.ir.graph import Node

BEFORE = ("Add", "Div", "Mul")


def between_products(roles: Mapping[Node, str]) -> set[Node]:
    """The nodes from a product on whose results nobody reads but the next one, up to the Softmax before the last one."""
    found: set[Node] = set()
    for node, role in roles.items():
        if node.op_type == "Softmax" and role == "computes":
            found.update(around(node, roles))
    return found


def around(softmax: Node, roles: Mapping[Node, str]) -> list[Node]:
    """A Softmax that stands between two products and what stands before it; nothing if it does not."""
    last = only_reader(softmax)
    if last is None or last.op_type != "MatMul" or last.inputs[0] is not softmax.outputs[0]:
        return []
    found = [softmax]
    while (node := scores_of(found[-1])) is not None and roles.get(node) == "computes":
        found.append(node)
        if node.op_type == "MatMul":
            return found
    return []


def scores_of(node: Node) -> Node | None:
    """The node that made what this one changes, if nobody else reads that."""
    makers = [None if value is None else value.producer for value in node.inputs]
    found = [
        one for one in makers if one is not None and one.op_type in ("MatMul", *BEFORE) and only_reader(one)
    ]
    return found[0] if len(found) == 1 else None


def only_reader(node: Node) -> Node | None:
    """The one node that reads what a node makes, in the same graph."""
    (value,) = node.outputs if len(node.outputs) == 1 else (None,)
    if value is None or len(value.uses) != 1 or value.is_graph_output:
        return None
    reader = value.uses[0][0]
    return reader if reader.graph is node.graph else None
