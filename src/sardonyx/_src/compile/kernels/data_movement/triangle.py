"""Trilu kernel: copies the upper or lower triangle of matrices, and zeroes the other elements.

Loop nest: units of work (blocks of rows) -> rows -> memcpy of the part inside of the triangle, fill of the rest.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import byte_pointer, emit_fill, emit_memcpy
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    ensure_dim,
)
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

# dims: the dims of the rows, with byte strides of x and y, and strides of a row's number in its matrix.
PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "columns", "diagonal", "dims*")


def triangle_step(x: TensorView, y: TensorView, diagonal: Known, *, upper: bool) -> Step:
    """y = x where column - row >= diagonal (upper) or column - row <= diagonal (lower); 0 elsewhere.

    x, y: [..., n, m] of one type, rows dense.
    """
    size, rank = element_bytes(x.dtype), x.rank
    row_numbers = tuple(int(d == rank - 2) for d in range(rank))
    rows = IterationSpace(x.shape, (x.strides, y.strides, row_numbers)).drop_dim(-1)
    rows = ensure_dim(coalesce(drop_unit_dims(rows))).scale_strides((size, size, 1))
    columns, dims = x.shape[-1], rows.to_arguments()
    unit_rows = dim_max(1, DataMovementTuning.copy_unit_elements // dim_max(columns, 1))
    kernel = Kernel(
        f"triangle_{'upper' if upper else 'lower'}_{size}_{rows.rank}",
        partial(triangle_module, size=size, rank=rows.rank, upper=upper),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, y=y, rows=rows.size, unit_rows=unit_rows, columns=columns, diagonal=diagonal, dims=dims
    )
    return Step(kernel, args, ceil_div(rows.size, unit_rows), (x,), (y,), bytes_accessed=x.nbytes * 2)


def triangle_module(name: str, target: Target, *, size: int, rank: int, upper: bool) -> str:
    """The LLVM module of the kernel: columns on one side of the boundary of the triangle are copied, the others zeroed."""
    b = KernelBuilder(target, PARAMETERS)
    x, y = b.pointers("x", "y")
    rows, unit_rows, columns, diagonal = b.integers("rows", "unit_rows", "columns", "diagonal")
    first, end = unit_row_range(b, rows, unit_rows)
    zero, zero_byte = b.constant(0, I64), b.constant(0, LLVMType("i8"))
    with loop_rows(b, load_dims(b, "dims", rank, 3), first, end) as (_, (x_offset, y_offset, row)):
        boundary = row + diagonal + (0 if upper else 1)
        boundary = b.min(b.select(boundary < 0, zero, boundary), columns)
        before, after = (zero, boundary), (boundary, columns)
        copied, zeroed = (after, before) if upper else (before, after)
        x_row, y_row = byte_pointer(b, x, x_offset), byte_pointer(b, y, y_offset)
        count = copied[1] - copied[0]
        start, count = copied[0] * size, count * size
        emit_memcpy(b, byte_pointer(b, x_row, start), byte_pointer(b, y_row, start), count)
        start = zeroed[0] * size
        emit_fill(b, zero_byte, byte_pointer(b, y_row, start), (zeroed[1] - zeroed[0]) * size)
    return b.build_module(name)
