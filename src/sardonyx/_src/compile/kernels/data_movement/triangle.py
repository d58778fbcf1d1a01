"""Trilu kernel: copies the upper or lower triangle of matrices, and zeroes the other elements.

Loop nest: units of work (blocks of rows) -> rows -> memcpy of the part inside of the triangle, fill of the rest.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
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
from sardonyx._src.ir.dims import Known, ceil_div, dim_max


def triangle_step(x: TensorView, y: TensorView, diagonal: Known, *, upper: bool) -> Step:
    """y = x where column - row >= diagonal (upper) or column - row <= diagonal (lower); 0 elsewhere.

    x, y: [..., n, m] of one type, rows dense.
    """
    size, rank = element_bytes(x.dtype), x.rank
    row_numbers = tuple(int(d == rank - 2) for d in range(rank))
    rows = coalesce(drop_unit_dims(IterationSpace(x.shape, (x.strides, y.strides, row_numbers)).drop_dim(-1)))
    rows = (rows if rows.rank else rows.append_dim(1, (0, 0, 0))).scale_strides((size, size, 1))
    columns, dims = x.shape[-1], rows.rank
    unit_rows = dim_max(1, COPY_UNIT_ELEMENTS // dim_max(columns, 1))
    kernel = Kernel(
        f"triangle_{'upper' if upper else 'lower'}_{size}_{dims}",
        lambda name, target: TriangleEmitter(target, size, dims, upper=upper).build_module(name),
    )
    args = (x, y, rows.size, unit_rows, columns, diagonal, *rows.to_arguments())
    return Step(kernel, args, ceil_div(rows.size, unit_rows), (x,), (y,), bytes_accessed=x.nbytes * 2)


class TriangleEmitter(MemcpyEmitter):
    """Emits a triangle.

    args: x, y, rows, rows per unit, columns, diagonal; dims of the rows (byte strides of x, of y; strides of the row's
    number in its matrix).
    """

    def __init__(self, target: Target, size: int, rank: int, *, upper: bool) -> None:
        super().__init__(target)
        self.upper, self.size = upper, size
        self.x, self.y = self.pointer_argument(0), self.pointer_argument(1)
        rows, unit_rows, self.columns, self.diagonal = (self.size_argument(i) for i in range(2, 6))
        first, end = self.min(self.first_unit * unit_rows, rows), self.min(self.end_unit * unit_rows, rows)
        self.loop_rows(self.load_dims(6, rank, 3), first, end, self.write_row)

    def write_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        """Copies the columns before or after the boundary of the triangle, and zeroes the others."""
        none = self.constant(0, self.columns.type)
        boundary = offsets[2] + self.diagonal + (0 if self.upper else 1)
        boundary = self.min(self.select(boundary < 0, none, boundary), self.columns)
        before, after = (none, boundary), (boundary, self.columns)
        copied, zeroed = (after, before) if self.upper else (before, after)
        source, target = self.byte_pointer(self.x, offsets[0]), self.byte_pointer(self.y, offsets[1])
        first, count = (part * self.size for part in (copied[0], copied[1] - copied[0]))
        self.emit_memcpy(self.byte_pointer(source, first), self.byte_pointer(target, first), count)
        start = self.byte_pointer(target, zeroed[0] * self.size)
        self.emit_fill(self.constant(0, LLVMType("i8")), start, (zeroed[1] - zeroed[0]) * self.size)
