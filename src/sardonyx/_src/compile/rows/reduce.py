"""Reductions along any set of dims: rows that become a number each, or columns side by side."""

from __future__ import annotations

from sardonyx._src.compile.moves.layout import Layout, simplified
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.folds import ELEMENTS, Name, fold_of
from sardonyx._src.compile.rows.reduce_text import WIDE, ColumnReduceText, Reduction, RowReduceText
from sardonyx._src.compile.rows.vectors import rows_of_unit, units
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.ir.dims import ceil_div


def reduced(
    name: Name,
    x: Tensor,
    y: Tensor,
    axes: tuple[int, ...],
    tail: Tail | None = None,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y = the elements of x along some axes, counted from the front, taken together.

    x, y: of one type; y has the dims of x with sizes of 1 for the axes, or without those.  tail: without operands,
    of float32 alone.  None for types that the operator has no kernel for.
    """
    element = ELEMENTS.get(x.dtype)
    fold = None if element is None else fold_of(name, element)
    if element is None or fold is None:
        return None
    reduction = Reduction(name, element, fold, tail or Tail())
    kept_axes = [d for d in range(x.rank) if d not in axes]
    over = tuple(y.strides[d] for d in kept_axes) if y.rank == x.rank else y.strides
    kept = Layout(tuple(x.shape[d] for d in kept_axes), (tuple(x.strides[d] for d in kept_axes), over))
    kept = simplified(kept, by=1)
    inside = rows_of(Layout(tuple(x.shape[d] for d in axes), (tuple(x.strides[d] for d in axes),)), by=0)
    columns = next((d for d in range(kept.rank) if [s[d] for s in kept.strides] == [1, 1]), None)
    if columns is None:
        return by_rows(reduction, x, y, kept, inside, nodes)
    return by_columns(reduction, x, y, kept, inside, columns, nodes)


def by_rows(
    reduction: Reduction, x: Tensor, y: Tensor, kept: Layout, inside: Layout, nodes: tuple[str, ...]
) -> Step:
    """Each number of y from the rows along the innermost axis."""
    rows, n, step = rows_of(kept, by=1), inside.shape[-1], inside.stride(0, -1)
    more = rows_of(inside.without(-1), by=0)
    ranks, in_a_row = (rows.rank, more.rank), step == 1
    kernel = Kernel(
        f"reduce_rows_{reduction.key}_{ranks}_{in_a_row}",
        lambda name, target: RowReduceText(target, reduction, ranks, in_a_row=in_a_row).module(name),
    )
    work = inside.count
    args = (x, y, rows.count, rows_of_unit(work), work, n, step, more.count, *rows.words(), *more.words())
    return Step(
        kernel,
        args,
        units(rows.count, work),
        (x,),
        (y,),
        flops=x.count,
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


def by_columns(
    reduction: Reduction,
    x: Tensor,
    y: Tensor,
    kept: Layout,
    inside: Layout,
    columns: int,
    nodes: tuple[str, ...],
) -> Step:
    """Numbers of y that lie side by side, as what they are made of does."""
    n, rows = kept.shape[columns], rows_of(kept.without(columns), by=1)
    ranks = (rows.rank, inside.rank)
    kernel = Kernel(
        f"reduce_columns_{reduction.key}_{ranks}",
        lambda name, target: ColumnReduceText(target, reduction, ranks).module(name),
    )
    args = (x, y, rows.count, 1, n, inside.count, *rows.words(), *inside.words())
    count = rows.count * ceil_div(n, WIDE)
    traffic = x.count * width(x.dtype) + y.bytes
    return Step(kernel, args, count, (x,), (y,), flops=x.count, traffic=traffic, nodes=nodes)
