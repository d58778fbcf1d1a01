"""OneHot: a fill with the off value, then a scatter of the on value to the indexed positions."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.gather import IndexTuples, indexed_copy_step
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.program import Step, TensorView


def one_hot_steps(
    indices: TensorView, values: TensorView, y: TensorView, axis: int, status: TensorView
) -> list[Step]:
    """y[before, d, after] = values[1] if d == indices[before, after], else values[0].

    indices: int32 or int64, [before, after]; values: [2] of the type of y; y: [before, depth, after].  An index outside
    of [-depth, depth) selects no position, which is no error: `status` is a scratch tensor that is not checked.
    """
    axis %= y.rank
    off = TensorView(values.dtype, y.shape, (0,) * y.rank, values.buffer, values.offset)
    none = (0,) * indices.rank
    on = replace(off, shape=indices.shape, strides=none, offset=values.offset + values.strides[0])
    tuples = IndexTuples(indices, indices.strides, 0, (y.shape[axis],), (y.strides[axis],))
    space = IterationSpace(indices.shape, (none, (*y.strides[:axis], *y.strides[axis + 1 :])))
    return [copy_step(off, y), indexed_copy_step("y", on, y, tuples, space, status)]
