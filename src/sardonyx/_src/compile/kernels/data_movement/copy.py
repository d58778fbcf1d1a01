"""Copies between two strided tensors of one shape: transposes, slices, concatenation, broadcasts, layout changes.

This file selects the kernel: the dims are sorted by the strides of the output and coalesced.  The strides of the innermost dim
then decide between contiguous rows, rows of one repeated element, blocks transposed in registers, and single elements.
"""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.row_copy import row_copy_step
from sardonyx._src.compile.kernels.data_movement.transpose_blocks import transpose_step
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space, simplify
from sardonyx._src.compile.program import Step, TensorView, element_bytes


def copy_step(x: TensorView, y: TensorView) -> Step:
    """y = x, for equal shapes and element sizes.

    Strides of x may be 0 (broadcast) or negative (reversal); the elements of y must not overlap.
    """
    assert len(x.shape) == len(y.shape) and element_bytes(x.dtype) == element_bytes(y.dtype), (
        f"{x} and {y} differ"
    )
    space, size = simplify(IterationSpace(y.shape, (x.strides, y.strides)), by=1), element_bytes(x.dtype)
    if size == 16:  # copied as two adjacent elements of 8 bytes
        space, size = simplify(space.scale_strides((2, 2)).append_dim(2, (1, 1)), by=1), 8
    if space.rank == 0:
        space = space.append_dim(1, (1, 1))
    return select_copy_step(x, y, space, size)


def select_copy_step(x: TensorView, y: TensorView, space: IterationSpace, size: int) -> Step:
    """The copy y = x over a simplified space of these operands with elements of `size` bytes."""
    columns, x_step, y_step = space.shape[-1], space.stride(0, -1), space.stride(1, -1)
    rows = row_space(space.drop_dim(-1), by=1).scale_strides((size, size))
    if y_step == 1 and x_step == 1:
        return row_copy_step("runs", x, y, 1, rows, columns * size, (1, 1))
    if y_step == 1 and x_step == 0:
        return row_copy_step("splat", x, y, size, rows, columns, (0, size))
    contiguous_in_x = [d for d in range(space.rank - 1) if space.stride(0, d) == 1] if y_step == 1 else []
    if contiguous_in_x:
        return transpose_step(x, y, space, contiguous_in_x[-1], size)
    return row_copy_step("strided", x, y, size, rows, columns, (x_step * size, y_step * size))
