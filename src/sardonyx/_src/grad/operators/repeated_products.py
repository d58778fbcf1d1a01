"""Sums of matrix products A' B over the iterations of a loop, computed as one product of the rows of all iterations."""

from __future__ import annotations

from sardonyx._src.ir import Node, Value
from sardonyx._src.ops.backward_step import BackwardStep


def matrix_factors(product: Value) -> tuple[Value, Value] | None:
    """The factors A and B of a value that is a product A' B; None for any other value.

    The gradients of the matrix of MatMul and Gemm are such products.  A factor may have more than two axes: its rows are
    those of the flattened tensor.
    """
    node = product.producer
    if node is None or node.domain:
        return None
    if node.op_type == "Transpose" and is_plain_transposition(node):
        factors = None if node.inputs[0] is None else matrix_factors(node.inputs[0])
        return None if factors is None else factors[::-1]
    if node.op_type == "MatMul":
        left, right = node.inputs
        transposed = None if left is None else left.producer
        if right is None or transposed is None or not is_plain_transposition(transposed):
            return None
        return row_source(transposed.inputs[0], right)
    if node.op_type == "Gemm" and len(node.inputs) == 2 and integers(node) == {"transA": 1}:
        return row_source(*node.inputs)
    return None


def is_plain_transposition(node: Node) -> bool:
    """Whether a node transposes a matrix."""
    perm = node.attributes.get("perm")
    return node.op_type == "Transpose" and perm is not None and perm.value == (1, 0)


def integers(node: Node) -> dict[str, object]:
    """The attributes of a node that are not 0."""
    return {name: attribute.value for name, attribute in node.attributes.items() if attribute.value}


def row_source(left: Value | None, right: Value | None) -> tuple[Value, Value] | None:
    return None if left is None or right is None else (unflattened(left), unflattened(right))


def unflattened(rows: Value) -> Value:
    """The tensor that was flattened to these rows; the rows themselves if there is none."""
    node = rows.producer
    if node is None or node.op_type != "Flatten" or node.domain or node.inputs[0] is None:
        return rows
    return node.inputs[0]


def multiply_rows(step: BackwardStep, like: Value, left: Value, right: Value) -> Value:
    """The sum of the products A' B over the iterations, whose matrices two tensors hold; it has the shape of `like`."""
    count = step.integers([-1])
    rows = [
        step.Reshape(x, step.op("Concat", count, step.op("Shape", like, start=i, end=i + 1), axis=0))
        for i, x in enumerate((left, right))
    ]
    return step.op("Gemm", *rows, transA=1)
