"""Copies between any two tensors of one shape: transposes, slices, joins, broadcasts, changes of layout.

The dims are sorted by the strides of what is written and taken together where both sides allow.  What then is innermost
decides how it is done: runs of bytes, one element over and over, blocks that are transposed in registers, or elements
one by one.
"""

from __future__ import annotations

from sardonyx._src.compile.moves.bands import HIGH, WIDE, BandText
from sardonyx._src.compile.moves.layout import BLOCK, Layout, rows, simplified
from sardonyx._src.compile.moves.rowwise import How, RowText
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.ir.dims import Known, ceil_div, dim_max


def copied(x: Tensor, y: Tensor, nodes: tuple[str, ...] = ()) -> Step:
    """y = x, of equal shapes and widths of elements; strides of x may be 0 or negative, y is written once."""
    assert len(x.shape) == len(y.shape) and width(x.dtype) == width(y.dtype), f"{x} and {y} differ"
    layout, size = simplified(Layout(y.shape, (x.strides, y.strides)), by=1), width(x.dtype)
    if size == 16:  # two halves that lie side by side
        layout, size = simplified(layout.scaled((2, 2)).inside(2, (1, 1)), by=1), 8
    if layout.rank == 0:
        layout = layout.inside(1, (1, 1))
    kernel, args, units = chosen(layout, size)
    traffic = x.bytes + y.bytes
    return Step(kernel, (x, y, *args), units, (x,), (y,), traffic=traffic, nodes=nodes)


def chosen(layout: Layout, size: int) -> tuple[Kernel, tuple[Arg, ...], Known]:
    """The kernel, its arguments behind the tensors, and the units of work."""
    n, from_, to = layout.shape[-1], layout.stride(0, -1), layout.stride(1, -1)
    rest = rows(layout.without(-1), by=1).scaled((size, size))
    if to == 1 and from_ == 1:
        return rowwise("runs", 1, rest, n * size, (1, 1))
    if to == 1 and from_ == 0:
        return rowwise("splat", size, rest, n, (0, size))
    across = [d for d in range(layout.rank - 1) if layout.stride(0, d) == 1] if to == 1 else []
    if across:
        return transposing(layout, across[-1], size)
    return rowwise("strided", size, rest, n, (from_ * size, to * size))


def rowwise(
    how: How, size: int, rest: Layout, n: Known, steps: tuple[Known, Known]
) -> tuple[Kernel, tuple[Arg, ...], Known]:
    """Rows of n elements; a unit is a block of columns of a block of rows."""
    many, rank = dim_max(1, BLOCK // dim_max(n, 1)), rest.rank
    kernel = Kernel(
        f"copy_{how}_{size}_{rank}", lambda name, target: RowText(target, how, size, rank).module(name)
    )
    args = (rest.count, many, n, *steps, *rest.words())
    return kernel, args, ceil_div(rest.count, many) * ceil_div(n, BLOCK)


def transposing(layout: Layout, across: int, size: int) -> tuple[Kernel, tuple[Arg, ...], Known]:
    """Bands of y as high as a block of registers; a unit is some columns of some bands.

    across: the dim along which x lies in a row, as y does along the last one.  A third operand of the rows counts
    along it.
    """
    n, height = layout.shape[-1], layout.shape[across]
    rest = layout.permuted([d for d in range(layout.rank - 1) if d != across])
    bands = Layout(rest.shape, (*rest.strides, (0,) * rest.rank))
    bands = bands.inside(ceil_div(height, HIGH), (HIGH, layout.stride(1, across) * HIGH, HIGH))
    bands = bands.scaled((size, size, 1))
    many = dim_max(1, WIDE // dim_max(n, 1))
    kernel = Kernel(
        f"copy_bands_{size}_{bands.rank}",
        lambda name, target: BandText(target, size, bands.rank).module(name),
    )
    steps = (layout.stride(0, -1) * size, layout.stride(1, across) * size)
    args = (bands.count, many, n, *steps, height, *bands.words())
    return kernel, args, ceil_div(bands.count, many) * ceil_div(n, WIDE)
