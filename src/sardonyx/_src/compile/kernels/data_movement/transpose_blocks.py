"""Transpose kernel: square blocks of elements are transposed in vector registers.

x is contiguous along the rows of y, and y along its columns:

    y[r, c] = x[c * x_stride + r],   stored at y + r * y_stride + c

Loop nest: units of work (several bands x `transpose_columns` columns) -> bands of `band_rows` rows of y -> columns in steps
of `side` -> rows in steps of `side` -> a block [side, side] with `side` lanes per vector.  A block is transposed by
log2(side) stages of shuffles, which swap off-diagonal sub-blocks of 1, 2, 4, ... lanes (Eklundh's algorithm).
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH, byte_pointer, byte_slot
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, loop_units
from sardonyx._src.compile.kernels.loops.vectors import first_lanes, load_typed, store_vector
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div, dim_max

# x_stride, y_stride: the byte strides between columns in x, and between rows in y.  height: the number of rows of all bands.
# dims: the dims of the bands, with byte strides of x and y, and strides of the number of a band's first row.
PARAMETERS = Parameters("x", "y", "bands", "unit_bands", "columns", "x_stride", "y_stride", "height", "dims*")


def transpose_step(x: TensorView, y: TensorView, space: IterationSpace, across: int, size: int) -> Step:
    """A transpose in bands of `band_rows` rows of y; a unit is a block of columns of several bands.

    across: the dim along which x is contiguous; y is contiguous along the last dim.
    The iteration space of the bands has three operands: the offsets in x and y, and the number of a band's first row.
    """
    columns, height = space.shape[-1], space.shape[across]
    outer = space.permute([d for d in range(space.rank - 1) if d != across])
    bands = IterationSpace(outer.shape, (*outer.strides, (0,) * outer.rank))
    band_strides = (
        DataMovementTuning.band_rows,
        space.stride(1, across) * DataMovementTuning.band_rows,
        DataMovementTuning.band_rows,
    )
    bands = bands.append_dim(ceil_div(height, DataMovementTuning.band_rows), band_strides).scale_strides(
        (size, size, 1)
    )
    unit_bands = dim_max(1, DataMovementTuning.transpose_columns // dim_max(columns, 1))
    source = partial(transpose_module, size=size, rank=bands.rank)
    kernel = Kernel(f"copy_bands_{size}_{bands.rank}", source, PARAMETERS)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x,
        y=y,
        bands=bands.size,
        unit_bands=unit_bands,
        columns=columns,
        x_stride=space.stride(0, -1) * size,
        y_stride=space.stride(1, across) * size,
        height=height,
        dims=bands.to_arguments(),
    )
    units = ceil_div(bands.size, unit_bands) * ceil_div(columns, DataMovementTuning.transpose_columns)
    return Step(kernel, args, units, (x,), (y,), bytes_accessed=x.nbytes + y.nbytes)


@dataclass(frozen=True, slots=True)
class TransposedBlock:
    """A block [side, side] of elements of `size` bytes; only [rows, columns] elements exist.

    x, y: the addresses of the first element in x and in y.
    x_stride, y_stride: the byte strides between columns in x, and between rows in y.
    """

    x: str
    y: str
    rows: LLVMValue
    columns: LLVMValue
    x_stride: LLVMValue
    y_stride: LLVMValue
    size: int
    side: int

    @property
    def line_type(self) -> LLVMType:
        return LLVMType(INTEGERS_BY_WIDTH[self.size], self.side)


def transpose_module(name: str, target: Target, *, size: int, rank: int) -> str:
    """The LLVM module of the transpose of elements of `size` bytes."""
    b = KernelBuilder(target, PARAMETERS)
    x, y = b.pointers("x", "y")
    sizes = ("bands", "unit_bands", "columns", "x_stride", "y_stride", "height")
    bands, unit_bands, columns, x_stride, y_stride, height = b.integers(*sizes)
    dims, side, zero = load_dims(b, "dims", rank, 3), block_side(target, size), b.constant(0, I64)
    with (
        loop_units(b, bands, unit_bands, columns, DataMovementTuning.transpose_columns) as (
            first,
            end,
            column,
            count,
        ),
        loop_rows(b, dims, first, end) as (_, (x_offset, y_offset, row)),
    ):
        x_band = byte_pointer(b, x, x_offset + column * x_stride)
        y_band = byte_pointer(b, y, y_offset + column * size)
        rows = b.min(height - row, DataMovementTuning.band_rows)
        with (
            b.loop(zero, count + (side - 1), side, "column") as c,
            b.loop(zero, rows + (side - 1), side, "r") as r,
        ):
            x_block = byte_pointer(b, x_band, r * size + c * x_stride)
            y_block = byte_pointer(b, y_band, c * size + r * y_stride)
            copy_block(
                b, TransposedBlock(x_block, y_block, rows - r, count - c, x_stride, y_stride, size, side)
            )
    return b.build_module(name)


def block_side(target: Target, size: int) -> int:
    """The side of a block: as many elements as a vector has, at most `band_rows`."""
    return min(DataMovementTuning.band_rows, max(16 if size == 1 else target.lanes * 4 // size, 1))


def copy_block(b: KernelBuilder, block: TransposedBlock) -> None:
    """Copies a block; at the edges of a band only `rows` x `columns` of its elements exist."""
    if block.side == 1:
        b.store(MemoryLocation(block.y, block.line_type), b.load(MemoryLocation(block.x, block.line_type)))
        return
    is_full = (block.rows >= block.side) & (block.columns >= block.side)
    with b.if_then(is_full):
        copy_full_block(b, block)
    with b.if_then(is_full.eq(0)):
        if block.size >= 4:
            copy_masked_block(b, block)
        else:
            copy_elements(b, block)


def copy_full_block(b: KernelBuilder, block: TransposedBlock) -> None:
    numbers = [b.constant(i, I64) for i in range(block.side)]
    lines = [b.load(byte_slot(b, block.x, i * block.x_stride, block.line_type)) for i in numbers]
    for i, line in zip(numbers, transpose(b, lines), strict=True):
        b.store(byte_slot(b, block.y, i * block.y_stride, block.line_type), line)


def copy_masked_block(b: KernelBuilder, block: TransposedBlock) -> None:
    """Copies a partial block by masked loads and stores."""
    zero, numbers = b.constant(0, block.line_type), [b.constant(i, I64) for i in range(block.side)]
    slots = [b.new_slot("line", block.line_type) for _ in numbers]
    row_mask, column_mask = first_lanes(b, block.rows, block.side), first_lanes(b, block.columns, block.side)
    for i, slot in zip(numbers, slots, strict=True):
        b.store(slot, zero)
        with b.if_then(i < block.columns):
            address = byte_pointer(b, block.x, i * block.x_stride)
            b.store(slot, load_typed(b, block.line_type, address, row_mask))
    lines = transpose(b, [b.load(slot) for slot in slots])
    for i, line in zip(numbers, lines, strict=True):
        with b.if_then(i < block.rows):
            store_vector(b, line, byte_pointer(b, block.y, i * block.y_stride), column_mask)


def copy_elements(b: KernelBuilder, block: TransposedBlock) -> None:
    """Copies a partial block of elements that are too narrow for masked accesses, one by one."""
    zero, element_type = b.constant(0, I64), LLVMType(block.line_type.element)
    with (
        b.loop(zero, b.min(block.rows, block.side), name="r") as r,
        b.loop(zero, b.min(block.columns, block.side), name="c") as c,
    ):
        value = b.load(byte_slot(b, block.x, r * block.size + c * block.x_stride, element_type))
        b.store(byte_slot(b, block.y, c * block.size + r * block.y_stride, element_type), value)


def transpose(b: KernelBuilder, lines: list[LLVMValue]) -> list[LLVMValue]:
    """Transposes a square block: lane i of vector j becomes lane j of vector i."""
    distance = 1
    while distance < len(lines):
        swapped = list(lines)
        for i in range(len(lines)):
            if not i & distance:
                low, high = lines[i], lines[i + distance]
                swapped[i] = interleave(b, low, high, distance, second=False)
                swapped[i + distance] = interleave(b, low, high, distance, second=True)
        lines, distance = swapped, distance * 2
    return lines


def interleave(
    b: KernelBuilder, low: LLVMValue, high: LLVMValue, distance: int, *, second: bool
) -> LLVMValue:
    """Alternates groups of `distance` lanes of both vectors: their even groups, or their odd groups if `second`."""
    side, shift = low.type.lanes, distance if second else 0
    lanes = [(side + lane - distance if lane & distance else lane) + shift for lane in range(side)]
    return shuffle(b, low, high, lanes)
