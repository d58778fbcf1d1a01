"""Batch dims of matrix products: the forms that kernels support."""

from __future__ import annotations

from sardonyx._src.compile.partition import Scope, Shape


def has_dynamic_batch(shape: Shape) -> bool:
    """Whether there are more than two batch dims, some of them dynamic: operands must then be dense to be merged."""
    return len(shape) > 4 and not all(isinstance(dim, int) for dim in shape[:-2])


def is_broadcastable(scope: Scope, shape: Shape, result: Shape) -> bool:
    """Whether each dim of an operand is 1 or the aligned dim of the result; guarded."""
    if len(shape) > len(result):
        return False
    aligned = result[len(result) - len(shape) :]
    return all(a == 1 or scope.guard_equal(a, b) for a, b in zip(shape, aligned, strict=True))
