"""fuse-einsum: replace an Einsum that is a matrix product, a transposition or an elementwise product.

Spec:    Einsum-12 -28, MatMul-1 -9 -13, Transpose-1 -13 -21 -23 -24 -25, Mul-7 -13 -14
Before:  g (float[2,3,4] x, float[2,4,5] w) => (float[] y) { y = Einsum<equation = "bij,bjk->bik">(x, w) }
After:   g (float[2,3,4] x, float[2,4,5] w) => (float[] y) { y = MatMul(x, w) }
Keeps:   equations that need more than one node; results up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Dim
from sardonyx._src.rewrite.api import rewrite
from sardonyx._src.rewrite.engine.edit import Edit


@rewrite(root="Einsum", phase="fuse")
def fuse_einsum(node: Node, edit: Edit) -> bool:
    equation = edit.attributes(node).get("equation") if edit.is_a(node, "Einsum") else None
    if not isinstance(equation, str) or equation.count("->") != 1:
        return False
    left, right = equation.replace(" ", "").split("->")
    terms = left.split(",")
    shapes = [edit.shape(value) for value in node.inputs]
    if len(terms) != len(shapes) or any(
        len(set(term)) != len(term) or "." in term for term in [*terms, right]
    ):
        return False
    if any(s is None or len(s) != len(term) for s, term in zip(shapes, terms, strict=True)):
        return False
    known = [shape for shape in shapes if shape is not None]
    if len(terms) == 1:
        return to_transpose(node, terms[0], right, edit)
    return len(terms) == 2 and to_product(node, terms, right, known, edit)


def to_transpose(node: Node, term: str, right: str, edit: Edit) -> bool:
    if not term or sorted(term) != sorted(right):
        return False
    type = edit.type(node.outputs[0])
    if node.graph is None or type is None or not edit.can_insert("Transpose", node.graph, dtype=type.dtype):
        return False
    return edit.replace(node, "Transpose", node.inputs, {"perm": [term.index(axis) for axis in right]})


def to_product(
    node: Node, terms: Sequence[str], right: str, shapes: Sequence[Sequence[Dim]], edit: Edit
) -> bool:
    graph, type = node.graph, edit.type(node.outputs[0])
    if graph is None or type is None or not same_sizes(terms, shapes):
        return False
    if terms[0] == terms[1] == right:
        return edit.can_insert("Mul", graph, dtype=type.dtype) and edit.replace(node, "Mul", node.inputs)
    if not edit.can_insert("MatMul", graph, dtype=type.dtype):
        return False
    for first, second in ((0, 1), (1, 0)):
        if is_product(terms[first], terms[second], right):
            return edit.replace(node, "MatMul", [node.inputs[first], node.inputs[second]])
    return False


def same_sizes(terms: Sequence[str], shapes: Sequence[Sequence[Dim]]) -> bool:
    """Whether axes of equal names have known equal lengths, so that none is broadcast."""
    sizes: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for axis, size in zip(term, shape, strict=True):
            if axis in sizes and (size is None or sizes[axis] != size):
                return False
            sizes[axis] = size
    return True


def is_product(first: str, second: str, right: str) -> bool:
    """Whether the terms form a matrix product, batched or with one right-hand matrix."""
    if len(first) < 2 or len(second) < 2 or len(right) < 2:
        return False
    batch, row, column = right[:-2], right[-2], right[-1]
    summed = first[-1]
    if summed in right or first != batch + row + summed:
        return False
    return second in (batch + summed + column, summed + column)
