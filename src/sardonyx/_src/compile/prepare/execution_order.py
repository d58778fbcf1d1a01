"""The order in which nodes are partitioned and executed: products of scales come as early as their factors allow.

A dynamically quantized layer is an integer product whose sums are multiplied by a scale, itself the product of two
scales.  Exporters write that product of scales after the integer product.  A kernel can apply it in its epilogue only
if it is computed before.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.ir import Graph, Node, Value
from sardonyx._src.ir.dims import Known

ShapeOf = Callable[[Value], "tuple[Known, ...] | None"]


def execution_order(graph: Graph, shape_of: ShapeOf) -> dict[Node, int]:
    """The position of each node: its position in the graph, except for Mul nodes of scalars and of vectors of known length."""
    order: dict[Node, int] = {}

    def append(node: Node) -> None:
        """Appends a node, then the products of scales that have become computable."""
        pending = [node]
        while pending:
            node = pending.pop()
            if node in order:
                continue
            order[node] = len(order)
            users = (user for value in node.outputs for user, _ in value.uses)
            pending += [user for user in users if user.graph is graph and can_follow(user)]

    def can_follow(node: Node) -> bool:
        return multiplies_scales(node, shape_of) and all(
            value is None
            or value.producer is None
            or value.producer.graph is not graph
            or value.producer in order
            for value in node.inputs
        )

    for node in graph.nodes:
        if can_follow(node):
            append(node)
    for node in graph.nodes:
        append(node)
    return order


def multiplies_scales(node: Node, shape_of: ShapeOf) -> bool:
    """Whether a node multiplies scalars, or vectors of known length."""
    if node.op_type != "Mul" or node.domain:
        return False
    shapes = [None if value is None else shape_of(value) for value in (*node.inputs, *node.outputs)]
    return all(
        shape is not None and len(shape) <= 1 and all(isinstance(dim, int) for dim in shape)
        for shape in shapes
    )
