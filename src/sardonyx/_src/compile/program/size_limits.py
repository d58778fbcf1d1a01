"""Limits of the numbers that native code computes with: those that a slot can hold, and those that can describe memory."""

from __future__ import annotations

from sardonyx._src.ir.dims import Expr, Known

MIN_INT64, MAX_INT64 = -(1 << 63), (1 << 63) - 1

# Of sizes, strides, offsets and counts.  No address space is larger; and kernels add a few such numbers, and multiply them
# by the sizes of windows and elements, without checks.
MAX_SIZE = 1 << 48


def fits_int64(number: int) -> bool:
    """Whether an i64 slot can hold the number."""
    return MIN_INT64 <= number <= MAX_INT64


def can_describe_memory(size: Known) -> bool:
    """Whether a size, stride, offset or count is within MAX_SIZE; runs decide about those that depend on input sizes."""
    return isinstance(size, Expr) or -MAX_SIZE <= size <= MAX_SIZE
