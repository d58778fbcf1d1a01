"""Gradient of Det: the cofactors of the matrix."""

from __future__ import annotations

from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients, shape_of

MAX_SIZE = 16  # rows of a matrix: each of its n * n cofactors is a determinant, with nodes of its own


@operator("Det").gradient(22)
def det(step: BackwardStep) -> Gradients:
    """Jacobi's formula with cofactors, which, unlike the inverse, exist for singular matrices, too."""
    shape = shape_of(step.input(0))
    size = shape[-1] if shape is not None else None
    if not isinstance(size, int) or size > MAX_SIZE:
        step.refuse(f"the size of its matrices must be known, and at most {MAX_SIZE}; got {size}")
    if not size:
        return [None]
    rows = [
        step.op(
            "Concat",
            *(step.Unsqueeze(cofactor(step, size, i, j), step.integers([-1])) for j in range(size)),
            axis=-1,
        )
        for i in range(size)
    ]
    cofactors = step.op("Concat", *(step.Unsqueeze(row, step.integers([-2])) for row in rows), axis=-2)
    return step.Mul(cofactors, step.Unsqueeze(step.gradient(), step.integers([-2, -1])))


def cofactor(step: BackwardStep, size: int, i: int, j: int) -> Value:
    """The determinants of the matrices without row i and column j, with their sign, in the shape of the result."""
    sign = step.scalar((-1) ** (i + j))
    if size == 1:
        return step.Expand(sign, step.Shape(step.output()))
    rows = step.integers([k for k in range(size) if k != i])
    columns = step.integers([k for k in range(size) if k != j])
    minor = step.op("Gather", step.op("Gather", step.input(0), rows, axis=-2), columns, axis=-1)
    return step.Mul(step.Det(minor), sign)
