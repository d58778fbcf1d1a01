"""OneHot: one of two values everywhere but where indices point."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.gather import Tuples, picking
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor


def one_hot(
    indices: Tensor, values: Tensor, y: Tensor, axis: int, status: Tensor, nodes: tuple[str, ...] = ()
) -> list[Step]:
    """y = values[0], but values[1] where the place along an axis is what the index there says.

    indices: int32 or int64, [before, after]; values: [2] of the type of y; y: [before, depth, after].  An index outside
    of [-depth, depth) points at nothing, which is no fault: `status` is a word that nobody looks at.
    """
    axis %= y.rank
    off = Tensor(values.dtype, y.shape, (0,) * y.rank, values.storage, values.offset)
    none = (0,) * indices.rank
    on = replace(off, shape=indices.shape, strides=none, offset=values.offset + values.strides[0])
    tuples = Tuples(indices, indices.strides, 0, (y.shape[axis],), (y.strides[axis],))
    layout = Layout(indices.shape, (none, (*y.strides[:axis], *y.strides[axis + 1 :])))
    return [copied(off, y, nodes), picking("y", on, y, tuples, layout, status, nodes)]
