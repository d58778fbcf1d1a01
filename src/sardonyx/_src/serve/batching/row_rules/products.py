"""Matrix products.  The batch axis may be the rows of the left operand, the columns of the right one, or a batch dim of both."""

from __future__ import annotations

from sardonyx._src.serve.batching.row_step import MIXED, RowAxis, RowStep, row_rule


@row_rule("MatMul")
def matmul(step: RowStep) -> RowAxis:
    return product(step, 0, 1)


@row_rule("MatMulInteger")
def matmul_integer(step: RowStep) -> RowAxis:
    return product(step, 0, 1) if are_scalars(step, 2, 3) else MIXED


@row_rule("QLinearMatMul")
def qlinear_matmul(step: RowStep) -> RowAxis:
    return product(step, 0, 3) if are_scalars(step, 1, 2, 4, 5, 6, 7) else MIXED


def are_scalars(step: RowStep, *inputs: int) -> bool:
    """Whether these inputs are constants of one element."""
    return step.is_constant(*inputs) and all(step.shape(i) in ((), (1,)) for i in inputs if step.has(i))


def product(step: RowStep, left: int, right: int) -> RowAxis:
    """The batch axis of a product with the broadcasting of `numpy.matmul`."""
    a, b, shape = step.rank(left), step.rank(right), step.output_shape()
    if (
        not a
        or not b
        or shape is None
        or not all(isinstance(step.axis(i), int) or step.is_constant(i) for i in (left, right))
    ):
        return MIXED
    i, j = step.batched(left), step.batched(right)
    if i is not None and j is None and i == a - 2:  # rows of the left operand
        return len(shape) - (1 if b == 1 else 2)
    if j is not None and i is None and j == b - 1 and b > 1:  # columns of the right operand
        return len(shape) - 1
    position = step.aligned((left, right))
    if position is None or position <= 2 or 1 in (a, b):
        return MIXED
    return len(shape) - position


@row_rule("Gemm")
def gemm(step: RowStep) -> RowAxis:
    rows = 1 if step.integer("transA", 0) else 0
    if step.batched(0) != rows or not step.is_constant(1):
        return MIXED
    if step.has(2) and not (step.batched(2) == 0 and step.rank(2) == 2):
        return 0 if step.is_constant(2) and step.has_extent_1(2, 2) else MIXED
    return 0


@row_rule("Einsum")
def einsum(step: RowStep) -> RowAxis:
    """The batch axis must have one letter, which all batched operands and the result have, and constant operands do not."""
    equation = str(step.attributes.get("equation", "")).replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if not arrow or "." in equation or len(terms) != len(step.node.inputs):
        return MIXED
    axes = [step.axis(i) for i in range(len(terms))]
    letters = {term[axis] for term, axis in zip(terms, axes, strict=True) if isinstance(axis, int)}
    if len(letters) != 1 or not all(
        isinstance(axis, int) or step.is_constant(i) for i, axis in enumerate(axes)
    ):
        return MIXED
    letter = letters.pop()
    counts = [term.count(letter) for term in terms]
    if counts != [int(isinstance(axis, int)) for axis in axes] or output.count(letter) != 1:
        return MIXED
    return output.index(letter)
