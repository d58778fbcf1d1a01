"""Entries put into a cache, each batch at a place of its own that is known at run time alone."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import BLOCK, Layout, merged, without_ones
from sardonyx._src.compile.moves.run import RunText
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import ceil_div, dim_max


def inserted(x: Tensor, starts: Tensor, y: Tensor, axis: int, status: Tensor, *, circular: bool) -> Step:
    """y[b, before, starts[b] + i, after] = x[b, before, i, after], and nothing else of y is touched.

    x: as y, but with at most as many entries along the axis, which is not the first one.  starts: int64 [B], by strides.
    Behind the end it goes on at 0 if it is circular; else `status` is told of a place outside of the axis.
    """
    size, none = width(x.dtype), (0,) * (x.rank - 1)
    aside = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    counting = tuple(int(d == axis) for d in range(x.rank))
    layout = Layout(x.shape, (x.strides, aside, (*starts.strides, *none), counting))
    layout = merged(without_ones(layout))
    is_run = layout.rank > 0 and [s[-1] for s in layout.strides] == [1, 1, 0, 0]
    n = layout.shape[-1] if is_run else 1
    rows = layout.without(-1) if is_run else layout
    rows = (rows if rows.rank else rows.inside(1, (0, 0, 0, 0))).scaled((size, size, 1, 1))
    many, rank = dim_max(1, BLOCK // dim_max(n * size, 1)), rows.rank
    kernel = Kernel(
        f"insert{'_circular' * circular}_{rank}",
        lambda name, target: InsertText(target, rank, circular=circular).module(name),
    )
    args = (x, y, starts, status, rows.count, many, n * size, y.shape[axis], y.strides[axis] * size)
    return Step(
        kernel,
        (*args, *rows.words()),
        ceil_div(rows.count, many),
        (x, starts, y),
        (y, status),
        traffic=x.bytes * 2,
    )


class InsertText(RunText):
    """The text of an insertion.

    args: x, y, starts, status, rows, rows of a unit, bytes of a row, entries of the axis, bytes from one to the next;
    dims of the rows: bytes of x, bytes of y, starts, entries along the axis.
    """

    def __init__(self, target: Target, rank: int, *, circular: bool) -> None:
        super().__init__(target)
        self.circular = circular
        self.x, self.y, self.starts, self.status = (self.pointer(i) for i in range(4))
        rows, many, self.bytes, self.entries, self.step = (self.size(i) for i in range(4, 9))
        first, last = self.least(self.first * many, rows), self.least(self.last * many, rows)
        self.walk(self.dims(9, rank, 4), first, last, self.row)

    def row(self, _: Value, offsets: list[Value]) -> None:
        start = self.read(Slot(self.address(self.starts, offsets[2], "i64"), I64))
        place = start + offsets[3]
        if self.circular:
            place = self.emit(I64, f"srem {start}, {self.entries.name}") + offsets[3]
            place = self.select(place < 0, place + self.entries, place)
            place = self.select(place >= self.entries, place - self.entries, place)
            self.moved(offsets, place)
            return
        is_good = (place >= 0) & (place < self.entries)
        self.when(is_good, lambda: self.moved(offsets, place))

        def bad() -> None:
            mark = offsets[2] + 1
            self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")

        self.when(is_good.equals(0), bad)

    def moved(self, offsets: list[Value], place: Value) -> None:
        target = self.place(self.y, offsets[1] + place * self.step)
        self.copied(self.place(self.x, offsets[0]), target, self.bytes)
