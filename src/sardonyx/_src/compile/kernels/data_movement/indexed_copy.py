"""Indexed copy kernel of gathers and scatters: rows of bytes at positions given by bounds-checked run-time indices.

Loop nest: units of work (blocks of rows; for gathers of long rows also blocks of bytes) -> rows: load the index tuple,
check it, add its offset to the indexed operand -> memcpy of the row, or one element.  `gather` builds the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

from sardonyx._src.compile.codegen import (
    I64,
    Element,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
)
from sardonyx._src.compile.codegen.element_types import resize_integer
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import (
    INTEGERS_BY_WIDTH,
    byte_pointer,
    byte_slot,
    emit_fill,
    emit_memcpy,
)
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import ScatterReduction, reduce_row
from sardonyx._src.compile.kernels.loops.strided_loops import (
    load_dims,
    loop_rows,
    loop_units,
    unit_row_range,
)
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass

IndexedSide = Literal["x", "y"]  # the operand that is indexed: x in gathers, y in scatters


@dataclass(frozen=True, slots=True)
class IndexedCopyVariant:
    """The specialization of an indexed copy.

    side: the operand that is indexed.
    index: the type of the indices.
    depth: the number of indices of a tuple.
    rank: the number of dims of the rows.
    size: the bytes of a row that is a single element; 0 for rows of any length.
    reduction: combines the updates of a scatter with the elements of y; None: updates replace them.
    """

    side: IndexedSide
    index: Element
    depth: int
    rank: int
    size: int
    reduction: ScatterReduction | None = None

    def __post_init__(self) -> None:
        assert self.reduction is None or self.side == "y", f"only scatters have a reduction; got {self}"

    @property
    def key(self) -> str:
        reduction = f"_{self.reduction.key}" if self.reduction else ""
        return f"pick_{self.side}_{self.index}_{self.depth}_{self.rank}_{self.size}{reduction}"

    @property
    def parameters(self) -> Parameters:
        """The parameters of the kernel.

        index_step: the stride between the indices of a tuple.
        axis_size0, axis_stride0, ...: the size, and the stride in bytes, of the axis of each index.
        dims: the dims of the rows, with byte strides of x and y, and element strides of the indices.
        """
        names = ("x", "y", "indices", "status", "rows", "unit_rows", "row_bytes", "index_step")
        axes = [f"axis_{word}{i}" for i in range(self.depth) for word in ("size", "stride")]
        return Parameters(*names, *axes, "dims*")


def indexed_copy_kernel(variant: IndexedCopyVariant) -> Kernel:
    return Kernel(variant.key, partial(indexed_copy_module, variant=variant), variant.parameters)


def indexed_copy_module(name: str, target: Target, variant: IndexedCopyVariant) -> str:
    """The LLVM module of the kernel.

    A negative index counts from the end.  For an index out of bounds nothing is read; gathers set the row of y to zeros,
    scatters leave it unchanged.
    """
    b, side = KernelBuilder(target, variant.parameters), variant.side
    x, y, indices, status = b.pointers("x", "y", "indices", "status")
    rows, unit_rows, row_bytes, step = b.integers("rows", "unit_rows", "row_bytes", "index_step")
    axes = [(b.integer(f"axis_size{i}"), b.integer(f"axis_stride{i}")) for i in range(variant.depth)]
    dims = load_dims(b, "dims", variant.rank, 3)
    with (
        loop_tiles(b, variant, rows, unit_rows, row_bytes) as (first, end, column, count),
        loop_rows(b, dims, first, end) as (_, (x_offset, y_offset, index_offset)),
    ):
        distance, is_valid = load_index_tuple(b, variant.index, indices, index_offset, step, axes)
        x_offset, y_offset = x_offset + column, y_offset + column
        if side == "x":
            x_offset = x_offset + distance
        else:
            y_offset = y_offset + distance
        x_row, y_row = byte_pointer(b, x, x_offset), byte_pointer(b, y, y_offset)
        with b.if_then(is_valid):
            write_row(b, variant, x_row, y_row, count)
        with b.if_then(is_valid.eq(0)):
            record_error(b, status, index_offset)
            if side == "x":
                emit_fill(b, b.constant(0, LLVMType("i8")), y_row, count)
    return b.build_module(name)


@contextmanager
def loop_tiles(
    b: KernelBuilder, variant: IndexedCopyVariant, rows: LLVMValue, unit_rows: LLVMValue, row_bytes: LLVMValue
) -> Iterator[tuple[LLVMValue, LLVMValue, LLVMValue, LLVMValue]]:
    """The tiles of the call, as `loop_units` yields them.  Only gathers of long rows have several; else all rows are one tile."""
    if variant.side == "x" and not variant.size:
        with loop_units(b, rows, unit_rows, row_bytes, DataMovementTuning.indexed_unit_bytes) as tile:
            yield tile
    else:
        yield *unit_row_range(b, rows, unit_rows), b.constant(0, I64), row_bytes


def load_index_tuple(
    b: KernelBuilder,
    element: Element,
    indices: str,
    offset: LLVMValue,
    step: LLVMValue,
    axes: list[tuple[LLVMValue, LLVMValue]],
) -> tuple[LLVMValue, LLVMValue]:
    """The byte offset that a tuple of indices selects, and whether all of its indices are in bounds.

    axes: the size and the byte stride of the axis of each index.
    """
    distance, is_valid = b.constant(0, I64), b.constant(1, LLVMType("i1"))
    for number, (size, stride) in enumerate(axes):
        address = b.gep(indices, offset + step * number, element)
        index = resize_integer(b.load(MemoryLocation(address, LLVMType(element))), "i64")
        index = b.select(index < 0, index + size, index)
        is_valid = is_valid & (index >= 0) & (index < size)
        distance = distance + index * stride
    return distance, is_valid


def write_row(b: KernelBuilder, variant: IndexedCopyVariant, x: str, y: str, count: LLVMValue) -> None:
    """Writes a row of `count` bytes, or of one element."""
    if variant.reduction:
        reduce_row(b, variant.reduction, x, y, count, single=variant.size > 0)
    elif variant.size:
        element_type = LLVMType(INTEGERS_BY_WIDTH[min(variant.size, 8)])
        for half in range(2 if variant.size == 16 else 1):
            offset = b.constant(8 * half, I64)
            y_slot = byte_slot(b, y, offset, element_type)
            b.store(y_slot, b.load(byte_slot(b, x, offset, element_type)))
    else:
        emit_memcpy(b, x, y, count)


def record_error(b: KernelBuilder, status: str, index_offset: LLVMValue) -> None:
    """Records an index out of bounds: `status` becomes the maximum of itself and 1 + the offset of the index."""
    mark = index_offset + 1
    b.lines.append(f" atomicrmw max ptr {status}, {mark} monotonic, align 8")
