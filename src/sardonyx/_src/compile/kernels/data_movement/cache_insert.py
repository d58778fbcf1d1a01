"""TensorScatter kernel: inserts new entries into a cache, at a run-time position for each batch.

The rows of the update are copied by memcpy; a row is as long as update and cache are contiguous after the axis.
Loop nest: units of work (blocks of rows) -> rows -> memcpy.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.indexed_copy import record_error
from sardonyx._src.compile.kernels.data_movement.memcpy import byte_pointer, emit_memcpy
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    split_row,
)
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.ir.dims import ceil_div, dim_max

# entries: the number of entries of the cache along the axis.  entry_stride: the stride between entries, in bytes.
# dims: the dims of the rows, with byte strides of x and y, element strides of starts, and strides of the entry number.
PARAMETERS = Parameters(
    "x", "y", "starts", "status", "rows", "unit_rows", "row_bytes", "entries", "entry_stride", "dims*"
)


def cache_insert_step(
    x: TensorView, starts: TensorView, y: TensorView, axis: int, status: TensorView, *, circular: bool
) -> Step:
    """y[b, before, starts[b] + i, after] = x[b, before, i, after]; the rest of y is not written.

    x: has the shape of y, but may have fewer entries along the axis, which is not the first axis.
    starts: int64 [B], any stride.
    Positions after the end wrap around if `circular`; else a position out of bounds is recorded in `status`, as
    described in `gather`.
    """
    size, none = element_bytes(x.dtype), (0,) * (x.rank - 1)
    y_strides = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    entry_strides = tuple(int(d == axis) for d in range(x.rank))
    space = IterationSpace(x.shape, (x.strides, y_strides, (*starts.strides, *none), entry_strides))
    rows, n = split_row(coalesce(drop_unit_dims(space)), (1, 1, 0, 0))
    rows = rows.scale_strides((size, size, 1, 1))
    unit_rows = dim_max(1, DataMovementTuning.copy_unit_elements // dim_max(n * size, 1))
    kernel = Kernel(
        f"insert{'_circular' * circular}_{rows.rank}",
        partial(cache_insert_module, rank=rows.rank, circular=circular),
        PARAMETERS,
    )
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        starts=starts,
        status=status,
        rows=rows.size,
        unit_rows=unit_rows,
        row_bytes=n * size,
        entries=y.shape[axis],
        entry_stride=y.strides[axis] * size,
        dims=rows.to_arguments(),
    )
    units, reads, writes = ceil_div(rows.size, unit_rows), (x, starts, y), (y, status)
    return Step(kernel, args, units, reads, writes, bytes_accessed=x.nbytes * 2, is_insertion=True)


def cache_insert_module(name: str, target: Target, *, rank: int, circular: bool) -> str:
    """The LLVM module of the kernel: each row of the update is copied to its position if the position is in bounds."""
    b = KernelBuilder(target, PARAMETERS)
    x, y, starts, status = b.pointers("x", "y", "starts", "status")
    sizes = ("rows", "unit_rows", "row_bytes", "entries", "entry_stride")
    rows, unit_rows, row_bytes, entries, entry_stride = b.integers(*sizes)
    first, end = unit_row_range(b, rows, unit_rows)
    with loop_rows(b, load_dims(b, "dims", rank, 4), first, end) as (_, offsets):
        x_offset, y_offset, start_offset, entry = offsets
        start = b.load(MemoryLocation(b.gep(starts, start_offset, "i64"), I64))
        position = start + entry
        if circular:
            position = wrap_position(b, start, entry, entries)
            y_row = byte_pointer(b, y, y_offset + position * entry_stride)
            emit_memcpy(b, byte_pointer(b, x, x_offset), y_row, row_bytes)
        else:
            is_valid = (position >= 0) & (position < entries)
            with b.if_then(is_valid):
                y_row = byte_pointer(b, y, y_offset + position * entry_stride)
                emit_memcpy(b, byte_pointer(b, x, x_offset), y_row, row_bytes)
            with b.if_then(is_valid.eq(0)):
                record_error(b, status, start_offset)
    return b.build_module(name)


def wrap_position(b: KernelBuilder, start: LLVMValue, entry: LLVMValue, entries: LLVMValue) -> LLVMValue:
    """(start + entry) modulo the number of entries of a cache, for 0 <= entry < entries."""
    position = b.emit(I64, f"srem {start}, {entries.name}") + entry
    position = b.select(position < 0, position + entries, position)
    return b.select(position >= entries, position - entries, position)
