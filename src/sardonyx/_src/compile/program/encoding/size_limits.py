"""Limits of numbers in native code: the range of an i64 slot, and the range of numbers that describe memory."""

from __future__ import annotations

from sardonyx._src.ir.dims import Expr, Known

MIN_INT64, MAX_INT64 = -(1 << 63), (1 << 63) - 1
ALL_STAGES = MAX_INT64  # the stage at which every length of a program is known

# The limit of sizes, strides, offsets and counts.  No address space is larger.  Kernels add such numbers,
# and multiply them by the
# sizes of windows and elements, without checks; below this limit an i64 does not overflow.
MAX_SIZE = 1 << 48


def fits_int64(number: int) -> bool:
    """Whether an i64 slot can hold the number."""
    return MIN_INT64 <= number <= MAX_INT64


def can_describe_memory(size: Known) -> bool:
    """Whether a size, stride, offset or count is within MAX_SIZE; expressions of input sizes pass, and are checked by runs."""
    return isinstance(size, Expr) or -MAX_SIZE <= size <= MAX_SIZE
