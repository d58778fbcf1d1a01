"""Gather, GatherElements, GatherND, ScatterElements and ScatterND with bounds-checked run-time indices.

This file builds the steps.  All five operators are one indexed copy (`indexed_copy`): in an iteration space of the operands x
and y, a tuple of indices adds a run-time offset to one of them, to x in gathers and to y in scatters.

Every step has a `status`: a tensor of one int64, which the runtime sets to 0 before a run.  A kernel that meets an index
out of bounds sets it to 1 + the offset of that index in the tensor of indices (the greatest such value, so that the result
does not depend on threads); the runtime then raises an EvaluationError, as `ops/tensor/indexing.py` does.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import Element
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.element_gather import GATHERED_BYTES, element_gather_step
from sardonyx._src.compile.kernels.data_movement.indexed_copy import (
    IndexedCopyVariant,
    IndexedSide,
    indexed_copy_kernel,
)
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import ScatterReduction
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    simplify,
    split_row,
)
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.kernels.tuning import DataMovementTuning
from sardonyx._src.compile.program import KernelArgument, Step, TensorView, element_bytes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

INDEX_ELEMENTS: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}


@dataclass(frozen=True, slots=True)
class IndexTuples:
    """Tuples of indices, each of which selects a position in one or more axes of an operand.

    indices: the tensor of indices.
    strides: the strides of the tuples along the dims of the iteration space.
    step: the stride between the indices of a tuple.
    axis_sizes, axis_strides: the sizes and strides of the indexed axes, in elements.
    """

    indices: TensorView
    strides: tuple[Known, ...]
    step: Known
    axis_sizes: tuple[Known, ...]
    axis_strides: tuple[Known, ...]

    @property
    def depth(self) -> int:
        """The number of indexed axes."""
        return len(self.axis_sizes)


def gather_step(x: TensorView, indices: TensorView, y: TensorView, axis: int, status: TensorView) -> Step:
    """y[before, i, after] = x[before, indices[i], after].

    x: [before, n, after]; indices: int32 or int64 of any dims; y: [before, dims of the indices, after].
    """
    axis %= x.rank
    before, after = x.strides[:axis], x.strides[axis + 1 :]
    none = (0,) * indices.rank
    index_strides = ((0,) * len(before)) + indices.strides + (0,) * len(after)
    tuples = IndexTuples(indices, index_strides, 0, (x.shape[axis],), (x.strides[axis],))
    space = IterationSpace(y.shape, ((*before, *none, *after), y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status)


def gather_elements_step(
    x: TensorView, indices: TensorView, y: TensorView, axis: int, status: TensorView
) -> Step:
    """y[i, j, k] = x[i, indices[i, j, k], k] for axis 1; in the other axes, x is at least as large as the indices."""
    axis %= x.rank
    tuples = IndexTuples(indices, indices.strides, 0, (x.shape[axis],), (x.strides[axis],))
    strides = (*x.strides[:axis], 0, *x.strides[axis + 1 :])
    space = IterationSpace(indices.shape, (strides, y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status)


def gather_nd_step(x: TensorView, indices: TensorView, y: TensorView, batch: int, status: TensorView) -> Step:
    """y[b, i, after] = x[b, *indices[b, i], after].

    x: [b, k axes, after]; indices: [b, i, k]; y: [b, i, after], with `batch` dims b; k is a number.
    """
    tuples, outer = nd_index_tuples(indices, x, batch), indices.rank - 1
    strides = (*x.strides[:batch], *(0,) * (outer - batch), *x.strides[batch + tuples.depth :])
    space = IterationSpace(y.shape, (strides, y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status)


def scatter_elements_steps(
    x: TensorView,
    indices: TensorView,
    updates: TensorView,
    y: TensorView,
    axis: int,
    status: TensorView,
    *,
    reduction: str = "none",
) -> list[Step]:
    """y = x, then y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1; the last of several updates wins.

    reduction: one of NATIVE_SCATTER_REDUCTIONS combines the updates with the elements, one after the other.
    In the other axes, x is at least as large as the indices.
    """
    axis %= x.rank
    tuples = IndexTuples(indices, indices.strides, 0, (y.shape[axis],), (y.strides[axis],))
    strides = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    space = IterationSpace(indices.shape, (updates.strides, strides))
    update_step = indexed_copy_step("y", updates, y, tuples, space, status, reduction)
    return [copy_step(x, y), update_step]


def scatter_nd_steps(
    x: TensorView,
    indices: TensorView,
    updates: TensorView,
    y: TensorView,
    status: TensorView,
    *,
    reduction: str = "none",
) -> list[Step]:
    """y = x, then y[*indices[i], after] = updates[i, after]; the last of several updates wins.

    x, y: [k axes, after]; indices: [i, k], k a number; updates: [i, after].
    reduction: one of NATIVE_SCATTER_REDUCTIONS combines the updates with the elements, one after the other.
    """
    tuples = nd_index_tuples(indices, y, 0)
    strides = (*(0,) * (indices.rank - 1), *y.strides[tuples.depth :])
    space = IterationSpace(updates.shape, (updates.strides, strides))
    update_step = indexed_copy_step("y", updates, y, tuples, space, status, reduction)
    return [copy_step(x, y), update_step]


def nd_index_tuples(indices: TensorView, x: TensorView, batch: int) -> IndexTuples:
    """Indices [b, i, k] into the k axes of x after the batch dims."""
    depth = indices.shape[-1]
    assert isinstance(depth, int), f"the length of index tuples must be a number; got {indices}"
    axes = slice(batch, batch + depth)
    strides = (*indices.strides[:-1], *(0,) * (x.rank - batch - depth))
    return IndexTuples(indices, strides, indices.strides[-1], x.shape[axes], x.strides[axes])


def indexed_copy_step(
    side: IndexedSide,
    x: TensorView,
    y: TensorView,
    tuples: IndexTuples,
    space: IterationSpace,
    status: TensorView,
    reduction: str = "none",
) -> Step:
    """The copy y = x over a space of the operands x and y; side: the operand to which index tuples add an offset."""
    size, index = element_bytes(x.dtype), INDEX_ELEMENTS[tuples.indices.dtype]
    rows, n = split_indexed_row(IterationSpace(space.shape, (*space.strides, tuples.strides)), side)
    if side == "x" and n == 1 and size in GATHERED_BYTES and picks_from_vector(x, tuples, rows):
        return element_gather_step(x, tuples.indices, index, y, rows.size, status)
    unit_rows, units = partition_rows(side, rows.size, n * size, single=n == 1)
    combine = ScatterReduction(reduction, NUMERIC_ELEMENTS[x.dtype]) if reduction != "none" else None
    variant = IndexedCopyVariant(side, index, tuples.depth, rows.rank, size if n == 1 else 0, combine)
    args: tuple[KernelArgument, ...] = variant.parameters.pack(
        x=x,
        y=y,
        indices=tuples.indices,
        status=status,
        rows=rows.size,
        unit_rows=unit_rows,
        row_bytes=n * size,
        index_step=tuples.step,
        **axis_arguments(tuples, size),
        dims=rows.scale_strides((size, size, 1)).to_arguments(),
    )
    reads = (x, tuples.indices) if side == "x" else (x, tuples.indices, y)
    traffic = space.size * (2 * size)
    kernel = indexed_copy_kernel(variant)
    return Step(kernel, args, units, reads, (y, status), bytes_accessed=traffic)


def picks_from_vector(x: TensorView, tuples: IndexTuples, rows: IterationSpace) -> bool:
    """Whether x is a contiguous vector, and its elements are copied by contiguous indices to contiguous elements of y."""
    if rows.rank != 1 or tuples.depth != 1 or tuples.axis_strides != (1,):
        return False
    return tuple(stride for (stride,) in rows.strides) == (0, 1, 1) and tuples.axis_sizes == (x.num_elements,)


def partition_rows(side: IndexedSide, rows: Known, row_bytes: Known, *, single: bool) -> tuple[Known, Known]:
    """The rows of a unit of work, and the number of units; `single`: whether a row is one element.

    Gathers are divided into units of rows and columns.  Scatters are one unit, since updates may collide.
    """
    if side == "y":
        return rows, 1
    if single:
        return DataMovementTuning.single_element_rows, ceil_div(rows, DataMovementTuning.single_element_rows)
    unit_rows = dim_max(1, DataMovementTuning.indexed_unit_bytes // dim_max(row_bytes, 1))
    return unit_rows, ceil_div(rows, unit_rows) * ceil_div(row_bytes, DataMovementTuning.indexed_unit_bytes)


def axis_arguments(tuples: IndexTuples, size: int) -> dict[str, Known]:
    """The size and the byte stride of each indexed axis, for elements of `size` bytes."""
    arguments: dict[str, Known] = {}
    for i, (axis_size, stride) in enumerate(zip(tuples.axis_sizes, tuples.axis_strides, strict=True)):
        arguments[f"axis_size{i}"], arguments[f"axis_stride{i}"] = axis_size, stride * size
    return arguments


def split_indexed_row(space: IterationSpace, side: IndexedSide) -> tuple[IterationSpace, Known]:
    """The space of the rows, and the number of elements of a row, which is contiguous in x and y and has one index tuple.

    Scatters keep the order of the dims, since the last of several updates wins.
    """
    space = simplify(space, by=1) if side == "x" else coalesce(drop_unit_dims(space))
    return split_row(space, (1, 1, 0))
