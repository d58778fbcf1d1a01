"""Gradients of MatMul, GroupedMatMul, Gemm and Einsum."""

from __future__ import annotations

import string
from collections.abc import Sequence

from sardonyx._src.grad.registry import decomposition, operator
from sardonyx._src.ir import Shape, Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, shape_of

# A product with at least this many columns for each term of its sums is thin: scaling its gradients is cheaper than its result.
MIN_COLUMNS = 8


@operator("MatMul").gradient(13)
def matmul(step: BackwardStep) -> Gradients:
    """dA = dY B' and dB = A' dY; a vector is a matrix of one row or column."""
    A, B = step.input(0), step.input(1)
    dY, factor = split_factor(step)
    ranks = step.rank(0), step.rank(1)
    rows = step.Unsqueeze(A, step.integers([0])) if ranks[0] == 1 else A
    columns = step.Unsqueeze(B, step.integers([1])) if ranks[1] == 1 else B
    if ranks[1] == 1:
        dY = step.Unsqueeze(dY, step.integers([-1]))
    if ranks[0] == 1:
        dY = step.Unsqueeze(dY, step.integers([-2]))
    dA = dB = None
    if step.wants(0):
        product = step.MatMul(dY, swap_last_axes(step, columns, max(ranks[1], 2)))
        dA = sum_batches(step, product, A, max(ranks[0], 2), max(ranks))
    if step.wants(1) and ranks[1] == 2 < ranks[0]:
        dB = step.op("Gemm", flatten_rows(step, A, ranks[0]), flatten_rows(step, dY, ranks[0]), transA=1)
    elif step.wants(1):
        product = step.MatMul(swap_last_axes(step, rows, max(ranks[0], 2)), dY)
        dB = sum_batches(step, product, B, max(ranks[1], 2), max(ranks))
    if factor is None:
        return [dA, dB]
    return [None if gradient is None else step.Mul(gradient, factor) for gradient in (dA, dB)]


def split_factor(step: BackwardStep) -> tuple[Value, Value | None]:
    """The gradient of the result without a scalar factor, and that factor; the whole gradient and None unless that saves work.

    For a product with sums of few terms, as in a low-rank adapter, the gradients of the operands have far fewer elements
    than that of the result, so that the factor is applied to them.
    """
    gradient, left, result = step.gradient(), shape_of(step.input(0)), shape_of(step.output())
    node = gradient.producer
    if node is None or (node.op_type, node.domain) != ("Mul", "") or not left or not result:
        return gradient, None
    terms, columns = left[-1], result[-1]
    is_thin = isinstance(terms, int) and isinstance(columns, int) and MIN_COLUMNS * terms <= columns
    factor = next((value for value in node.inputs if value is not None and shape_of(value) == ()), None)
    if factor is None or not is_thin:
        return gradient, None
    scaled = next((value for value in node.inputs if value is not None and value is not factor), None)
    return (gradient, None) if scaled is None else (scaled, factor)


def flatten_rows(step: BackwardStep, x: Value, rank: int) -> Value:
    """The rows of all matrices of a tensor as one matrix."""
    return step.op("Flatten", x, axis=rank - 1)


def swap_last_axes(step: BackwardStep, x: Value, rank: int) -> Value:
    """The matrices of a tensor, transposed."""
    return step.op("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


def sum_batches(step: BackwardStep, product: Value, operand: Value, rank: int, result_rank: int) -> Value:
    """The gradient of an operand, from that of its broadcast matrices: [..., m, n]."""
    shape, own = shape_of(step.output()), shape_of(operand)
    if result_rank == 2 or (rank == result_rank and has_same_batches(own, shape)):
        return product if own is not None and len(own) == rank else step.reshape_like(product, operand)
    return (
        step.reduce_by_sizes(product, operand)
        if own is not None and len(own) > 1
        else sum_vector(step, product, operand)
    )


def has_same_batches(own: Shape | None, shape: Shape | None) -> bool:
    """Whether the batch sizes of an operand are those of the product."""
    return own is not None and shape is not None and own[:-2] == shape[:-2] and None not in own[:-2]


def sum_vector(step: BackwardStep, product: Value, operand: Value) -> Value:
    """The gradient of a vector, from that of the matrix of one row or column in every batch."""
    count = step.Size(operand)
    columns = step.op("Concat", step.integers([-1]), step.Unsqueeze(count, step.integers([0])), axis=0)
    total = step.op("ReduceSum", step.op("Reshape", product, columns), step.integers([0]), keepdims=0)
    return step.reshape_like(total, operand)


@operator("GroupedMatMul").gradient(29)
def grouped_matmul(step: BackwardStep) -> Gradients:
    """dX: a grouped product with the transposed matrices, summed over selections; dW: a product for each group.

    The product of a group has all rows, with those of other groups set to zero, so that no matrix is needed for each row.
    An infinite gradient therefore makes the gradients of all groups NaN.
    """
    x, weights, indices = step.input(0), step.input(1), step.input(2)
    rows = flatten_rows(step, step.gradient(), 3)
    dX = dW = dB = None
    shape = step.op("Concat", step.Shape(indices), step.op("Shape", x, start=1), axis=0)
    if step.wants(0):
        column = step.op("Reshape", indices, step.integers([-1, 1]))
        product = step.op("GroupedMatMul", rows, swap_last_axes(step, weights, 3), column)
        dX = step.op(
            "ReduceSum", step.op("Reshape", product, shape, allowzero=1), step.integers([1]), keepdims=0
        )
    if not (step.wants(1) or step.wants(3)):
        return [dX, None, None, None]
    numbers = step.op("CastLike", step.op("Range", *group_range(step, weights)), indices)
    row = step.op("Reshape", indices, step.integers([1, -1]))
    is_of_group = step.op("Equal", step.Unsqueeze(numbers, step.integers([1])), row)
    if step.wants(1):
        expanded = step.Expand(step.Unsqueeze(x, step.integers([1])), shape)
        columns = step.op("Transpose", flatten_rows(step, expanded, 3), perm=[1, 0])
        own = step.op("Where", step.Unsqueeze(is_of_group, step.integers([1])), columns, step.scalar(0.0))
        dW = step.MatMul(own, rows)
    if step.wants(3):
        dB = step.MatMul(step.op("CastLike", is_of_group, rows), rows)
    return [dX, dW, None, dB]


def group_range(step: BackwardStep, weights: Value) -> tuple[Value, Value, Value]:
    """The operands of a Range over the groups."""
    count = step.op("Squeeze", step.op("Shape", weights, end=1), step.integers([0]))
    start, delta = (step.op("Squeeze", step.integers([n]), step.integers([0])) for n in (0, 1))
    return start, count, delta


@operator("Gemm").gradient(13)
def gemm(step: BackwardStep) -> Gradients:
    """Y = alpha * A' B' + beta * C."""
    A, B, dY = step.input(0), step.input(1), step.gradient()
    alpha, beta = step.inference.number("alpha"), step.inference.number("beta")
    is_a_transposed, is_b_transposed = step.inference.integer("transA"), step.inference.integer("transB")
    dA = dB = dC = None
    if step.wants(0) and is_a_transposed:
        dA = step.op("Gemm", B, dY, alpha=alpha, transA=is_b_transposed, transB=1)
    elif step.wants(0):
        dA = step.op("Gemm", dY, B, alpha=alpha, transB=1 - is_b_transposed)
    if step.wants(1) and is_b_transposed:
        dB = step.op("Gemm", dY, A, alpha=alpha, transA=1, transB=is_a_transposed)
    elif step.wants(1):
        dB = step.op("Gemm", A, dY, alpha=alpha, transA=1 - is_a_transposed)
    if step.wants(2):
        dC = step.reduce_to_input(dY if beta == 1 else step.Mul(dY, step.scalar(beta)), 2)
    return [dA, dB, dC]


@operator("Einsum").gradient(28)
def einsum(step: BackwardStep) -> Gradients:
    """The gradient of an operand is the same contraction, with the gradient of the result instead of that operand.

    Along indices that only this operand has, the gradient is expanded.
    """
    equation = str(step.inference.attributes["equation"]).replace(" ", "")
    operands, arrow, result = equation.partition("->")
    terms = operands.split(",")
    if not arrow:
        result = implicit_result(terms)
    return [contract(step, terms, result, i) if step.wants(i) else None for i in range(len(terms))]


def contract(step: BackwardStep, terms: list[str], result: str, i: int) -> Value:
    """The gradient of operand i: the product of the result's gradient with all other operands."""
    own = terms[i]
    others = [(term, step.input(j)) for j, term in enumerate(terms) if j != i]
    known = set(result).union(*(term for term, _ in others))
    present = "".join(index for index in own if index in known)
    inputs = ",".join([result, *(term for term, _ in others)])
    product = step.op("Einsum", step.gradient(), *(x for _, x in others), equation=f"{inputs}->{present}")
    missing = [axis for axis, index in enumerate(own) if index not in known]
    if missing:
        product = step.Unsqueeze(product, step.integers(missing))
    expanded = step.Expand(product, step.Shape(step.input(i)))
    sizes = shape_of(step.input(i))
    can_stretch = sizes is None or any(not isinstance(size, int) or size == 1 for size in sizes)
    return step.reduce_by_sizes(expanded, step.input(i)) if can_stretch else expanded


def implicit_result(terms: list[str]) -> str:
    """The indices of the result of an equation without an arrow: those that occur once, in alphabetic order."""
    indices = "".join(terms).replace(".", "")
    ellipsis = "..." if any("..." in term for term in terms) else ""
    return ellipsis + "".join(sorted(index for index in set(indices) if indices.count(index) == 1))


@decomposition("Einsum", 28)
def spell_indices(step: BackwardStep) -> Sequence[Value | None] | None:
    """Replaces an equation with an ellipsis or repeated indices by one without.

    The ellipsis becomes letters, with the operands expanded along its axes; an operand with a repeated index becomes its
    diagonal.
    """
    equation = str(step.inference.attributes["equation"]).replace(" ", "")
    operands, arrow, result = equation.partition("->")
    terms = operands.split(",")
    if "..." not in equation and all(len(set(term)) == len(term) for term in terms):
        return None
    result = result if arrow else implicit_result(terms)
    counts = [
        step.rank(i) - len(term.replace("...", "")) if "..." in term else 0 for i, term in enumerate(terms)
    ]
    unused = [letter for letter in string.ascii_letters if letter not in equation]
    letters = "".join(unused[: max(counts)])
    values = []
    for i, (term, count) in enumerate(zip(terms, counts, strict=True)):
        terms[i], value = with_diagonals(
            step, term.replace("...", letters[len(letters) - count :]), step.input(i)
        )
        values.append(value)
    values = expand_together(step, terms, values, letters)
    result = result.replace("...", letters)
    return [step.op("Einsum", *values, equation=f"{','.join(terms)}->{result}")]


def with_diagonals(step: BackwardStep, term: str, x: Value) -> tuple[str, Value]:
    """An operand with each repeated index once, and the diagonal along its axes."""
    while len(set(term)) < len(term):
        second = next(axis for axis, index in enumerate(term) if index in term[:axis])
        first = term.index(term[second])
        size = step.op("Shape", x, start=first, end=first + 1)
        number = step.Range(step.integers(0), step.Squeeze(size, step.integers([0])), step.integers(1))
        rows, columns = (
            step.Reshape(number, step.integers([-1 if axis == own else 1 for axis in range(len(term))]))
            for own in (first, second)
        )
        inside = step.Where(step.Equal(rows, columns), x, step.scalar(0))
        x = step.ReduceSum(inside, step.integers([second]), keepdims=0)
        term = term[:second] + term[second + 1 :]
    return term, x


def expand_together(step: BackwardStep, terms: list[str], values: list[Value], letters: str) -> list[Value]:
    """The operands with equal sizes along the axes of the ellipsis; axes of size 1 are expanded."""
    sizes: dict[str, Value] = {}
    for letter in letters:
        own = [
            step.op("Shape", value, start=term.index(letter), end=term.index(letter) + 1)
            for term, value in zip(terms, values, strict=True)
            if letter in term
        ]
        sizes[letter] = step.Max(*own) if len(own) > 1 else own[0]
    expanded = []
    for term, value in zip(terms, values, strict=True):
        single = step.integers([1])
        target = [sizes[letter] if letter in letters else single for letter in term]
        shared = any(letter in letters and sum(letter in other for other in terms) > 1 for letter in term)
        expanded.append(step.Expand(value, step.op("Concat", *target, axis=0)) if shared else value)
    return expanded
