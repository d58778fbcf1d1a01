"""Rotary position embedding (RoPE; Su et al., "RoFormer"): rotates pairs of elements of each row by its position's angles.

Let (a, b) be a pair of elements of a row [D] of x [B, H, L, D], and cos and sin those of the pair's angle at the row's position:
y = (cos * a - sin * b, sin * a + cos * b).  Loop nest: rows of the units -> vectors of pairs, then vectors to copy.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.loops.lanes import shuffle
from sardonyx._src.compile.kernels.loops.memory import load_at, load_vector_at, store_at
from sardonyx._src.compile.kernels.loops.rows import loop_vector_blocks, num_units, rows_per_unit
from sardonyx._src.compile.kernels.loops.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import loop_vectors
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass

# half: the number of pairs of a row.
# dims: sizes and strides of the rows; strides of x, y, cos and sin, or of x, y and the positions if there are positions.
TENSOR_PARAMETERS = Parameters("x", "y", "cos", "sin")
SIZE_PARAMETERS = Parameters("rows", "unit_rows", "half", "width")
ANGLE_PARAMETERS = TENSOR_PARAMETERS + SIZE_PARAMETERS + Parameters("dims*")
POSITION_PARAMETERS = (
    TENSOR_PARAMETERS
    + Parameters("positions", "status")
    + SIZE_PARAMETERS
    + Parameters("num_positions", "cos_row_stride", "sin_row_stride", "dims*")
)


def rotary_embedding_step(
    x: TensorView,
    y: TensorView,
    cos: TensorView,
    sin: TensorView,
    *,
    interleaved: bool,
    positions: TensorView | None = None,
    status: TensorView | None = None,
) -> Step:
    """The step for fp32 x, y [B, H, L, D]; rows of all tensors are contiguous.

    cos, sin: a table [P, half] that int64 positions [B, L] index; without positions, the values of each row, [B, L, half].
        Elements after the first 2 * half <= D of a row are copied.
    interleaved: pairs are elements 2 * i and 2 * i + 1; otherwise elements i and i + half.
    A position outside of 0..P-1 is reported in `status`, and its row is not written.
    """
    half, width = cos.shape[-1], x.shape[3]
    angles = (cos, sin) if positions is None else (positions,)
    # Angles do not depend on the head.
    angle_strides = [(tensor.strides[0], 0, tensor.strides[1]) for tensor in angles]
    rows = row_space(IterationSpace(x.shape[:3], (x.strides[:3], y.strides[:3], *angle_strides)), by=1)
    arguments: dict[str, KernelArgument] = {"x": x, "y": y, "cos": cos, "sin": sin}
    arguments |= {"rows": rows.size, "unit_rows": rows_per_unit(width), "half": half, "width": width}
    module, parameters = rotary_module, ANGLE_PARAMETERS
    reads: tuple[TensorView, ...] = (x, cos, sin)
    writes: tuple[TensorView, ...] = (y,)
    if positions is not None:
        assert status is not None, "a step with positions must have a status; got None"
        module, parameters = rotary_by_position_module, POSITION_PARAMETERS
        reads, writes = (*reads, positions), (y, status)
        arguments |= {"positions": positions, "status": status, "num_positions": cos.shape[0]}
        arguments |= {"cos_row_stride": cos.strides[0], "sin_row_stride": sin.strides[0]}
    key = f"rotary{'_pairs' * interleaved}{'_placed' * (positions is not None)}_{rows.rank}"
    return Step(
        Kernel(key, partial(module, rank=rows.rank, interleaved=interleaved), parameters),
        parameters.pack(**arguments, dims=rows.to_arguments()),
        num_units(rows.size, width),
        reads,
        writes,
        flops=x.num_elements * 3,
        bytes_accessed=x.nbytes * 2,
    )


def rotary_module(name: str, target: Target, rank: int, *, interleaved: bool) -> str:
    """The LLVM module of the kernel without positions: cos and sin have a row for each row of x."""
    b, vector_type = KernelBuilder(target, ANGLE_PARAMETERS), LLVMType("float", target.lanes)
    bases = b.pointers(*TENSOR_PARAMETERS.names)
    rows, unit_rows, half, width = b.integers(*SIZE_PARAMETERS.names)
    dims = load_dims(b, "dims", rank, 4)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, offsets):
        x, y, cos, sin = (b.gep(base, offset) for base, offset in zip(bases, offsets, strict=True))
        rotate_row(RotaryRow(b, vector_type, x, y, (cos, sin), half, width), interleaved=interleaved)
    return b.build_module(name)


def rotary_by_position_module(name: str, target: Target, rank: int, *, interleaved: bool) -> str:
    """The LLVM module of the kernel with positions: each row of x has a position, which indexes the tables cos and sin."""
    b, vector_type = KernelBuilder(target, POSITION_PARAMETERS), LLVMType("float", target.lanes)
    x, y, cos, sin = b.pointers(*TENSOR_PARAMETERS.names)
    positions, status = b.pointers("positions", "status")
    rows, unit_rows, half, width = b.integers(*SIZE_PARAMETERS.names)
    num_positions, cos_stride, sin_stride = b.integers("num_positions", "cos_row_stride", "sin_row_stride")
    dims = load_dims(b, "dims", rank, 3)
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (_, (x_offset, y_offset, offset)):
        x_row, y_row = b.gep(x, x_offset), b.gep(y, y_offset)
        position = b.load(MemoryLocation(b.gep(positions, offset, "i64"), I64))
        is_valid = (position >= 0) & (position < num_positions)
        with b.if_then(is_valid):
            angles = b.gep(cos, position * cos_stride), b.gep(sin, position * sin_stride)
            rotate_row(RotaryRow(b, vector_type, x_row, y_row, angles, half, width), interleaved=interleaved)
        with b.if_then(is_valid.eq(0)):
            b.lines.append(f" atomicrmw max ptr {status}, {offset + 1} monotonic, align 8")
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class RotaryRow:
    """The addresses of a row of x and of y, and of cos and sin for its `half` pairs; width: the elements of the row."""

    b: KernelBuilder
    vector_type: LLVMType
    x: str
    y: str
    angles: tuple[str, str]
    half: LLVMValue
    width: LLVMValue


def rotate_row(row: RotaryRow, *, interleaved: bool) -> None:
    """Rotates the pairs of a row and copies the elements after them."""
    b, lanes = row.b, row.vector_type.lanes
    if interleaved:
        rotate_adjacent_pairs(row)
    else:
        rotate_halves(row)
    rotated = row.half * 2
    source, target = b.gep(row.x, rotated), b.gep(row.y, rotated)
    for i, vectors, mask in loop_vector_blocks(b, row.width - rotated, lanes, 1):
        for v in range(vectors):
            value = load_vector_at(b, source, i + v * lanes, row.vector_type, mask)
            store_at(b, target, i + v * lanes, value, mask)


def rotate_halves(row: RotaryRow) -> None:
    b = row.b
    for i, mask in loop_vectors(b, 0, row.half, row.vector_type.lanes):
        indices = (i, i + row.half)
        pair = [load_vector_at(b, row.x, index, row.vector_type, mask) for index in indices]
        cos_sin = [load_vector_at(b, angle, i, row.vector_type, mask) for angle in row.angles]
        for value, index in zip(rotate_pair(*pair, *cos_sin), indices, strict=True):
            store_at(b, row.y, index, value, mask)


def rotate_adjacent_pairs(row: RotaryRow) -> None:
    """Vectors of pairs are deinterleaved, rotated and interleaved; the remainder is done pair by pair."""
    b, lanes, i = row.b, row.vector_type.lanes, row.b.constant(0, I64)
    if lanes > 1:
        with b.loop(i, row.half, lanes) as i:
            low, high = (load_vector_at(b, row.x, i * 2 + part, row.vector_type) for part in (0, lanes))
            pair = [shuffle(b, low, high, range(odd, 2 * lanes, 2)) for odd in (0, 1)]
            cos_sin = [load_vector_at(b, angle, i, row.vector_type) for angle in row.angles]
            rotated = rotate_pair(*pair, *cos_sin)
            for part in (0, lanes):
                interleaved = [(part + j) // 2 + j % 2 * lanes for j in range(lanes)]
                value = shuffle(b, *rotated, interleaved)
                store_at(b, row.y, i * 2 + part, value)
    with b.loop(i, row.half, name="pair") as i:
        indices = [i * 2, i * 2 + 1]
        pair = [load_at(b, row.x, index, "float") for index in indices]
        cos_sin = [load_at(b, angle, i, "float") for angle in row.angles]
        for value, index in zip(rotate_pair(*pair, *cos_sin), indices, strict=True):
            store_at(b, row.y, index, value)


def rotate_pair(
    first: LLVMValue, second: LLVMValue, cos: LLVMValue, sin: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    return cos * first - sin * second, sin * first + cos * second
