"""Copies between two strided tensors of one shape: transposes, slices, concatenation, broadcasts, layout changes.

Builds the step: the dims are sorted by the strides of the output and coalesced, and the innermost one selects the kernel:
contiguous rows, one repeated element, blocks transposed in registers, or single elements.
"""

from __future__ import annotations

from typing import TypeAlias

from sardonyx._src.compile.kernels.data_movement.iteration_space import (
    COPY_UNIT_ELEMENTS,
    IterationSpace,
    row_space,
    simplify,
)
from sardonyx._src.compile.kernels.data_movement.row_copy import RowCopyEmitter, RowCopyKind
from sardonyx._src.compile.kernels.data_movement.transpose_blocks import (
    BAND_ROWS,
    TRANSPOSE_COLUMNS,
    TransposeEmitter,
)
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView, element_bytes
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

# A kernel, its arguments after the tensors x and y, and the number of units of work.
CopyKernel: TypeAlias = tuple[Kernel, tuple[KernelArgument, ...], Known]


def copy_step(x: TensorView, y: TensorView, nodes: tuple[str, ...] = ()) -> Step:
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
    kernel, args, units = select_copy_kernel(space, size)
    traffic = x.nbytes + y.nbytes
    return Step(kernel, (x, y, *args), units, (x,), (y,), bytes_accessed=traffic, nodes=nodes)


def select_copy_kernel(space: IterationSpace, size: int) -> CopyKernel:
    """The kernel for a simplified space of operands x and y with elements of `size` bytes."""
    columns, x_step, y_step = space.shape[-1], space.stride(0, -1), space.stride(1, -1)
    rows = row_space(space.drop_dim(-1), by=1).scale_strides((size, size))
    if y_step == 1 and x_step == 1:
        return row_copy_kernel("runs", 1, rows, columns * size, (1, 1))
    if y_step == 1 and x_step == 0:
        return row_copy_kernel("splat", size, rows, columns, (0, size))
    contiguous_in_x = [d for d in range(space.rank - 1) if space.stride(0, d) == 1] if y_step == 1 else []
    if contiguous_in_x:
        return transpose_kernel(space, contiguous_in_x[-1], size)
    return row_copy_kernel("strided", size, rows, columns, (x_step * size, y_step * size))


def row_copy_kernel(
    kind: RowCopyKind, size: int, rows: IterationSpace, columns: Known, steps: tuple[Known, Known]
) -> CopyKernel:
    """A copy of rows; steps: byte strides of x and y along a row.  A unit is a block of columns of a block of rows."""
    unit_rows, rank = dim_max(1, COPY_UNIT_ELEMENTS // dim_max(columns, 1)), rows.rank
    kernel = Kernel(
        f"copy_{kind}_{size}_{rank}",
        lambda name, target: RowCopyEmitter(target, kind, size, rank).build_module(name),
    )
    args = (rows.size, unit_rows, columns, *steps, *rows.to_arguments())
    return kernel, args, ceil_div(rows.size, unit_rows) * ceil_div(columns, COPY_UNIT_ELEMENTS)


def transpose_kernel(space: IterationSpace, across: int, size: int) -> CopyKernel:
    """A transpose in bands of BAND_ROWS rows of y; a unit is a block of columns of several bands.

    across: the dim along which x is contiguous; y is contiguous along the last one.  Beside the offsets in x and y, the
    bands have a third operand, the number of their first row.
    """
    columns, height = space.shape[-1], space.shape[across]
    outer = space.permute([d for d in range(space.rank - 1) if d != across])
    bands = IterationSpace(outer.shape, (*outer.strides, (0,) * outer.rank))
    band_strides = (BAND_ROWS, space.stride(1, across) * BAND_ROWS, BAND_ROWS)
    bands = bands.append_dim(ceil_div(height, BAND_ROWS), band_strides).scale_strides((size, size, 1))
    unit_bands = dim_max(1, TRANSPOSE_COLUMNS // dim_max(columns, 1))
    kernel = Kernel(
        f"copy_bands_{size}_{bands.rank}",
        lambda name, target: TransposeEmitter(target, size, bands.rank).build_module(name),
    )
    steps = (space.stride(0, -1) * size, space.stride(1, across) * size)
    args = (bands.size, unit_bands, columns, *steps, height, *bands.to_arguments())
    return kernel, args, ceil_div(bands.size, unit_bands) * ceil_div(columns, TRANSPOSE_COLUMNS)
