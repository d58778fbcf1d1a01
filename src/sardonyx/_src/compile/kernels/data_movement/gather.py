"""Gather, GatherElements, GatherND, ScatterElements and ScatterND with bounds-checked run-time indices.

Builds the steps.  All five are one indexed copy (`indexed_copy`): in an iteration space of the operands x and y, a tuple
of indices adds a run-time offset to one of both, to x in gathers and to y in scatters.

Every step has a `status`: a tensor of one int64, which the runtime sets to 0 before a run.  A kernel that meets an index
out of bounds sets it to 1 + the offset of that index in the tensor of indices (the greatest such value, so that the result
does not depend on threads); the runtime then raises an EvaluationError, as `ops/tensor/indexing.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.codegen.builder import Element
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.indexed_copy import (
    INDEXED_UNIT_BYTES,
    IndexedCopyEmitter,
    IndexedCopyVariant,
    IndexedSide,
)
from sardonyx._src.compile.kernels.data_movement.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    simplify,
)
from sardonyx._src.compile.kernels.data_movement.scatter_reduction import scatter_reduction_kernel
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView, element_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, known_ge

INDEX_ELEMENTS: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}
SINGLE_ELEMENT_ROWS = 1024  # of a unit of work, if a row is one element


@dataclass(frozen=True, slots=True)
class IndexTuples:
    """Tuples of indices, each of which selects a position in one or more axes of an operand.

    strides: of the tuples, over the dims of the iteration space.  step: the stride between the indices of a tuple.
    axis_sizes, axis_strides: of the indexed axes, in elements.
    """

    indices: TensorView
    strides: tuple[Known, ...]
    step: Known
    axis_sizes: tuple[Known, ...]
    axis_strides: tuple[Known, ...]


def gather_step(
    x: TensorView,
    indices: TensorView,
    y: TensorView,
    axis: int,
    status: TensorView,
    nodes: tuple[str, ...] = (),
) -> Step:
    """y[before, i, after] = x[before, indices[i], after].

    x: [before, n, after]; indices: int32 or int64 of any dims; y: [before, dims of the indices, after].
    """
    axis %= x.rank
    before, after = x.strides[:axis], x.strides[axis + 1 :]
    none = (0,) * indices.rank
    index_strides = ((0,) * len(before)) + indices.strides + (0,) * len(after)
    tuples = IndexTuples(indices, index_strides, 0, (x.shape[axis],), (x.strides[axis],))
    space = IterationSpace(y.shape, ((*before, *none, *after), y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status, nodes)


def gather_elements_step(
    x: TensorView,
    indices: TensorView,
    y: TensorView,
    axis: int,
    status: TensorView,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y[i, j, k] = x[i, indices[i, j, k], k] for axis 1; None unless x is provably as large in the other axes."""
    axis %= x.rank
    if not covers_indices(indices, x, axis):
        return None
    tuples = IndexTuples(indices, indices.strides, 0, (x.shape[axis],), (x.strides[axis],))
    strides = (*x.strides[:axis], 0, *x.strides[axis + 1 :])
    space = IterationSpace(indices.shape, (strides, y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status, nodes)


def gather_nd_step(
    x: TensorView,
    indices: TensorView,
    y: TensorView,
    batch: int,
    status: TensorView,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y[b, i, after] = x[b, *indices[b, i], after].

    x: [b, k axes, after]; indices: [b, i, k]; y: [b, i, after], with `batch` dims b.  None if k is symbolic.
    """
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return None
    tuples = nd_index_tuples(indices, x, batch, depth)
    outer = indices.rank - 1
    strides = (*x.strides[:batch], *(0,) * (outer - batch), *x.strides[batch + depth :])
    space = IterationSpace(y.shape, (strides, y.strides))
    return indexed_copy_step("x", x, y, tuples, space, status, nodes)


def scatter_elements_steps(
    x: TensorView,
    indices: TensorView,
    updates: TensorView,
    y: TensorView,
    axis: int,
    status: TensorView,
    nodes: tuple[str, ...] = (),
    *,
    reduction: str = "none",
) -> list[Step] | None:
    """y = x, then y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1; the last of several updates wins.

    reduction: one of NATIVE_SCATTER_REDUCTIONS combines the updates with the elements, one after the other.
    None unless x is provably as large as the indices in the other axes.
    """
    axis %= x.rank
    if not covers_indices(indices, x, axis):
        return None
    tuples = IndexTuples(indices, indices.strides, 0, (y.shape[axis],), (y.strides[axis],))
    strides = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    space = IterationSpace(indices.shape, (updates.strides, strides))
    update_step = indexed_copy_step("y", updates, y, tuples, space, status, nodes, reduction)
    return [copy_step(x, y, nodes), update_step]


def scatter_nd_steps(
    x: TensorView,
    indices: TensorView,
    updates: TensorView,
    y: TensorView,
    status: TensorView,
    nodes: tuple[str, ...] = (),
    *,
    reduction: str = "none",
) -> list[Step] | None:
    """y = x, then y[*indices[i], after] = updates[i, after]; the last of several updates wins.  None if k is symbolic.

    x, y: [k axes, after]; indices: [i, k]; updates: [i, after].
    reduction: one of NATIVE_SCATTER_REDUCTIONS combines the updates with the elements, one after the other.
    """
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return None
    tuples = nd_index_tuples(indices, y, 0, depth)
    strides = (*(0,) * (indices.rank - 1), *y.strides[depth:])
    space = IterationSpace(updates.shape, (updates.strides, strides))
    update_step = indexed_copy_step("y", updates, y, tuples, space, status, nodes, reduction)
    return [copy_step(x, y, nodes), update_step]


def nd_index_tuples(indices: TensorView, x: TensorView, batch: int, depth: int) -> IndexTuples:
    """Indices [b, i, k] into the `depth` axes of x after the batch dims."""
    axes = slice(batch, batch + depth)
    strides = (*indices.strides[:-1], *(0,) * (x.rank - batch - depth))
    return IndexTuples(indices, strides, indices.strides[-1], x.shape[axes], x.strides[axes])


def covers_indices(indices: TensorView, x: TensorView, axis: int) -> bool:
    """Whether x is provably at least as large as the indices in every axis but the indexed one."""
    pairs = enumerate(zip(x.shape, indices.shape, strict=True))
    return all(d == axis or known_ge(size, count) is True for d, (size, count) in pairs)


def indexed_copy_step(
    side: IndexedSide,
    x: TensorView,
    y: TensorView,
    tuples: IndexTuples,
    space: IterationSpace,
    status: TensorView,
    nodes: tuple[str, ...],
    reduction: str = "none",
) -> Step:
    """The copy y = x over a space of these operands; `side`: the operand that the index tuples offset.

    Gathers are divided into units of rows and columns.  Scatters are one unit, since updates may collide.
    """
    size, index, depth = element_bytes(x.dtype), INDEX_ELEMENTS[tuples.indices.dtype], len(tuples.axis_sizes)
    rows, n = split_row(IterationSpace(space.shape, (*space.strides, tuples.strides)), side)
    single, rank = size if n == 1 else 0, rows.rank
    unit_rows = dim_max(1, SINGLE_ELEMENT_ROWS if single else INDEXED_UNIT_BYTES // dim_max(n * size, 1))
    units = ceil_div(rows.size, unit_rows) * (1 if single else ceil_div(n * size, INDEXED_UNIT_BYTES))
    if side == "y":
        unit_rows, units = rows.size, 1
    variant = IndexedCopyVariant(side, index, depth, rank, single)
    kernel = Kernel(variant.key, lambda name, target: IndexedCopyEmitter(target, variant).build_module(name))
    if reduction != "none":
        kernel = scatter_reduction_kernel(variant, reduction, x.dtype)
    pairs = zip(tuples.axis_sizes, tuples.axis_strides, strict=True)
    axes = [argument for axis_size, stride in pairs for argument in (axis_size, stride * size)]
    dims = rows.scale_strides((size, size, 1)).to_arguments()
    args = (x, y, tuples.indices, status, rows.size, unit_rows, n * size, tuples.step, *axes, *dims)
    reads = (x, tuples.indices) if side == "x" else (x, tuples.indices, y)
    traffic = space.size * (2 * size)
    return Step(kernel, args, units, reads, (y, status), bytes_accessed=traffic, nodes=nodes)


def split_row(space: IterationSpace, side: IndexedSide) -> tuple[IterationSpace, Known]:
    """The dims of the rows, and the elements of a row: contiguous in x and y under one index tuple.

    Scatters keep the order of the dims, since the last of several updates wins.
    """
    space = simplify(space, by=1) if side == "x" else coalesce(drop_unit_dims(space))
    is_contiguous = space.rank > 0 and [s[-1] for s in space.strides] == [1, 1, 0]
    n = space.shape[-1] if is_contiguous else 1
    rows = space.drop_dim(-1) if is_contiguous else space
    return rows if rows.rank else rows.append_dim(1, (0, 0, 0)), n
