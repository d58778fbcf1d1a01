"""Row-wise copy kernel: contiguous rows (memcpy), rows of one repeated element (fill), or strided rows.

Contiguous rows that begin where they are copied to stay as they are, as those of a cache that a run updates in place
(`program/verification/in_place_outputs.py`).

Loop nest: units of work (a block of rows x `copy_unit_elements` columns) -> rows -> vectors or single elements.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import I64, LLVMType, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import (
    INTEGERS_BY_WIDTH,
    byte_pointer,
    byte_slot,
    emit_fill,
    emit_memcpy,
)
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, loop_units
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

# Rows that are contiguous in x and y; rows of y that repeat one element of x; rows of any strides.
RowCopyKind = Literal["runs", "splat", "strided"]
# x_step, y_step: the byte strides along a row.  dims: the dims of the rows, with byte strides of x and y.
PARAMETERS = Parameters("x", "y", "rows", "unit_rows", "columns", "x_step", "y_step", "dims*")


def row_copy_step(
    kind: RowCopyKind,
    x: TensorView,
    y: TensorView,
    size: int,
    rows: IterationSpace,
    columns: Known,
    steps: tuple[Known, Known],
) -> Step:
    """A copy of rows of elements of `size` bytes; steps: the byte strides of x and y along a row.

    A unit is a block of columns of a block of rows.
    """
    unit_rows = dim_max(1, DataMovementTuning.copy_unit_elements // dim_max(columns, 1))
    kernel = Kernel(
        f"copy_{kind}_{size}_{rows.rank}",
        partial(row_copy_module, kind=kind, size=size, rank=rows.rank),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        rows=rows.size,
        unit_rows=unit_rows,
        columns=columns,
        x_step=steps[0],
        y_step=steps[1],
        dims=rows.to_arguments(),
    )
    units = ceil_div(rows.size, unit_rows) * ceil_div(columns, DataMovementTuning.copy_unit_elements)
    accessed = x.nbytes + y.nbytes
    return Step(kernel, args, units, (x,), (y,), bytes_accessed=accessed, is_copy=kind == "runs")


def row_copy_module(name: str, target: Target, *, kind: RowCopyKind, size: int, rank: int) -> str:
    """The LLVM module of the kernel; the columns of kind "runs" are bytes, those of other kinds elements of `size` bytes."""
    b, element_type = KernelBuilder(target, PARAMETERS), LLVMType(INTEGERS_BY_WIDTH[size])
    x, y = b.pointers("x", "y")
    sizes = ("rows", "unit_rows", "columns", "x_step", "y_step")
    rows, unit_rows, columns, x_step, y_step = b.integers(*sizes)
    dims = load_dims(b, "dims", rank, 2)
    is_moved = b.emit(I64, f"ptrtoint ptr {x} to i64").ne(b.emit(I64, f"ptrtoint ptr {y} to i64"))
    with (
        loop_units(b, rows, unit_rows, columns, DataMovementTuning.copy_unit_elements) as (
            first,
            end,
            column,
            count,
        ),
        loop_rows(b, dims, first, end) as (_, (x_offset, y_offset)),
    ):
        x_row = byte_pointer(b, x, x_offset + column * x_step)
        y_row = byte_pointer(b, y, y_offset + column * y_step)
        if kind == "runs":
            with b.if_then(is_moved):
                emit_memcpy(b, x_row, y_row, count)
        elif kind == "splat":
            emit_fill(b, b.load(MemoryLocation(x_row, element_type)), y_row, count)
        else:
            with b.loop(b.constant(0, I64), count) as i:
                value = b.load(byte_slot(b, x_row, i * x_step, element_type))
                b.store(byte_slot(b, y_row, i * y_step, element_type), value)
    return b.build_module(name)
