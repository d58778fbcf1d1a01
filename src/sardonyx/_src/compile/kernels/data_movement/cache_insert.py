"""TensorScatter kernel: inserts new entries into a cache, at a run-time position for each batch.

The rows of the update are copied by memcpy; a row is as long as update and cache are contiguous after the axis.
Loop nest: units of work (blocks of rows) -> rows -> memcpy.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import (
    COPY_UNIT_ELEMENTS,
    IterationSpace,
    coalesce,
    drop_unit_dims,
)
from sardonyx._src.compile.kernels.data_movement.memcpy import MemcpyEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView, element_bytes
from sardonyx._src.ir.dims import ceil_div, dim_max


def cache_insert_step(
    x: TensorView, starts: TensorView, y: TensorView, axis: int, status: TensorView, *, circular: bool
) -> Step:
    """y[b, before, starts[b] + i, after] = x[b, before, i, after]; the rest of y is not written.

    x: as y, with at most as many entries along the axis, which is not the first one.  starts: int64 [B], any stride.
    Positions after the end wrap around if `circular`; else a position out of bounds is recorded in `status`, as
    described in `gather`.
    """
    size, none = element_bytes(x.dtype), (0,) * (x.rank - 1)
    y_strides = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    entry_strides = tuple(int(d == axis) for d in range(x.rank))
    space = IterationSpace(x.shape, (x.strides, y_strides, (*starts.strides, *none), entry_strides))
    space = coalesce(drop_unit_dims(space))
    is_contiguous = space.rank > 0 and [s[-1] for s in space.strides] == [1, 1, 0, 0]
    n = space.shape[-1] if is_contiguous else 1
    rows = space.drop_dim(-1) if is_contiguous else space
    rows = (rows if rows.rank else rows.append_dim(1, (0, 0, 0, 0))).scale_strides((size, size, 1, 1))
    unit_rows, rank = dim_max(1, COPY_UNIT_ELEMENTS // dim_max(n * size, 1)), rows.rank
    kernel = Kernel(
        f"insert{'_circular' * circular}_{rank}",
        lambda name, target: CacheInsertEmitter(target, rank, circular=circular).build_module(name),
    )
    args = (x, y, starts, status, rows.size, unit_rows, n * size, y.shape[axis], y.strides[axis] * size)
    return Step(
        kernel,
        (*args, *rows.to_arguments()),
        ceil_div(rows.size, unit_rows),
        (x, starts, y),
        (y, status),
        bytes_accessed=x.nbytes * 2,
    )


class CacheInsertEmitter(MemcpyEmitter):
    """Emits a cache insertion.

    args: x, y, starts, status, rows, rows per unit, bytes of a row, cache entries along the axis, byte stride between
    them; dims of the rows (byte strides of x, of y; element strides of starts; strides of the entry number).
    """

    def __init__(self, target: Target, rank: int, *, circular: bool) -> None:
        super().__init__(target)
        self.circular = circular
        self.x, self.y, self.starts, self.status = (self.pointer_argument(i) for i in range(4))
        rows, unit_rows, self.row_bytes, self.entries, self.entry_stride = (
            self.size_argument(i) for i in range(4, 9)
        )
        first, end = self.min(self.first_unit * unit_rows, rows), self.min(self.end_unit * unit_rows, rows)
        self.loop_rows(self.load_dims(9, rank, 4), first, end, self.insert_row)

    def insert_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        start = self.load(StackSlot(self.gep(self.starts, offsets[2], "i64"), I64))
        position = start + offsets[3]
        if self.circular:
            position = self.emit(I64, f"srem {start}, {self.entries.name}") + offsets[3]
            position = self.select(position < 0, position + self.entries, position)
            position = self.select(position >= self.entries, position - self.entries, position)
            self.copy_row(offsets, position)
            return
        is_valid = (position >= 0) & (position < self.entries)
        self.if_then_call(is_valid, lambda: self.copy_row(offsets, position))

        def record_error() -> None:
            mark = offsets[2] + 1
            self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")

        self.if_then_call(is_valid.eq(0), record_error)

    def copy_row(self, offsets: list[LLVMValue], position: LLVMValue) -> None:
        target = self.byte_pointer(self.y, offsets[1] + position * self.entry_stride)
        self.emit_memcpy(self.byte_pointer(self.x, offsets[0]), target, self.row_bytes)
