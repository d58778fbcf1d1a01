"""ArgMax and ArgMin: where along an axis the greatest or the least element is."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.moves.layout import Layout, simplified
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.arg_text import WIDE, ColumnArgText, RowArgText, Search
from sardonyx._src.compile.rows.folds import ELEMENTS
from sardonyx._src.compile.rows.vectors import rows_of_unit, units
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div


@dataclass(frozen=True, slots=True)
class Ends:
    """Which element is looked for: the greatest or the least, and the first or the last such one."""

    greatest: bool
    last: bool = False


def places_of_extremes(
    x: Tensor, y: Tensor, axis: int, ends: Ends, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y = the place along an axis of x; NaN counts before all numbers.  None for types that have no kernel.

    x: [..., n, ...]; y: int64, [..., 1, ...] or without that axis.  Where n is 0 places are 0.
    """
    element, axis = ELEMENTS.get(x.dtype), axis % x.rank
    if element is None:
        return None
    assert y.dtype is DataType.INT64, f"places are int64, not {y.dtype}"
    search = Search(element, ends.greatest, ends.last)
    over = (*y.strides[:axis], 0, *y.strides[axis + (y.rank == x.rank) :])
    n, step = x.shape[axis], x.strides[axis]
    kept = simplified(Layout(x.shape, (x.strides, over)).without(axis), by=1)
    columns = next((d for d in range(kept.rank) if [s[d] for s in kept.strides] == [1, 1]), None)
    if columns is None or step == 1:
        rows, in_a_row = rows_of(kept, by=1), step == 1
        rank = rows.rank
        kernel = Kernel(
            f"arg_rows_{search.key}_{rank}_{in_a_row}",
            lambda name, target: RowArgText(target, search, rank, in_a_row=in_a_row).module(name),
        )
        args = (x, y, rows.count, rows_of_unit(n), n, step, *rows.words())
        count = units(rows.count, n)
    else:
        rows = rows_of(kept.without(columns), by=1)
        rank = rows.rank
        kernel = Kernel(
            f"arg_columns_{search.key}_{rank}",
            lambda name, target: ColumnArgText(target, search, rank).module(name),
        )
        args = (x, y, rows.count, 1, kept.shape[columns], n, step, *rows.words())
        count = rows.count * ceil_div(kept.shape[columns], WIDE)
    traffic = x.bytes + y.bytes
    return Step(kernel, args, count, (x,), (y,), flops=x.count * 4, traffic=traffic, nodes=nodes)
