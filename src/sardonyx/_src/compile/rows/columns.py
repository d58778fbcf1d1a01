"""Softmax and LogSoftmax along a dim that is not the innermost: neighbouring columns side by side in vectors."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout, simplified
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.folds import exponential
from sardonyx._src.compile.rows.vectors import LOWEST, RowsText
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import ceil_div

WIDE = 256  # columns of a unit


def softmax_of_columns(
    layout: Layout, x: Tensor, y: Tensor, axis: int, *, log: bool, nodes: tuple[str, ...]
) -> Step | None:
    """The step over x and y, [..., n, ..., columns]; None where columns do not lie side by side in both."""
    rest = simplified(layout.without(axis), by=1)
    inner = next((d for d in range(rest.rank) if all(s[d] == 1 for s in rest.strides)), None)
    if inner is None:
        return None
    n, columns, rows = layout.shape[axis], rest.shape[inner], rows_of(rest.without(inner), by=1)
    kernel = Kernel(
        f"softmax_columns_{log}_{rows.rank}",
        lambda name, target: ColumnSoftmaxText(target, log=log, rank=rows.rank).module(name),
    )
    steps = (layout.stride(0, axis), layout.stride(1, axis))
    args = (x, y, rows.count, n, columns, *steps, *rows.words())
    units = rows.count * ceil_div(columns, WIDE)
    count = layout.count
    return Step(kernel, args, units, (x,), (y,), flops=count * 30, traffic=count * 8, nodes=nodes)


class ColumnSoftmaxText(RowsText):
    """The text of a softmax of columns.

    args: x, y, rows, n, columns, steps along the dim of x and of y, dims of the rows.
    """

    def __init__(self, target: Target, *, log: bool, rank: int) -> None:
        super().__init__(target)
        self.log = log
        self.sides = [self.pointer(0), self.pointer(1)]
        rows, self.n, columns, *self.steps = (self.size(i) for i in range(2, 7))
        dims = self.dims(7, rank, 2)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            def row(_: Value, offsets: list[Value]) -> None:
                places = [self.row(s, o + column) for s, o in zip(self.sides, offsets, strict=True)]
                self.along(count, lambda i, many, mask: self.block(places, i, many, mask))

            self.walk(dims, first, end, row)

        self.shared(rows, self.constant(1, self.zero.kind), columns, WIDE, unit)

    def block(self, places: list[str], i: Value, many: int, mask: Value | None) -> None:
        """Some vectors of columns, from their first entry to their last."""
        tops, sums = self.gathers(LOWEST, many), self.gathers(0, many)

        def vectors(k: Value, side: int) -> list[Value]:
            return [i + k * self.steps[side] + v * self.lanes for v in range(many)]

        def climb(k: Value) -> None:
            for at, top in zip(vectors(k, 0), tops, strict=True):
                self.write(top, self.greater(self.fetched(places[0], at, mask), self.read(top)))

        def add(k: Value) -> None:
            for at, to, top, part in zip(vectors(k, 0), vectors(k, 1), tops, sums, strict=True):
                found = exponential(self, self.fetched(places[0], at, mask) - self.read(top))
                if not self.log:
                    self.put(found, places[1], to, mask)
                self.write(part, self.read(part) + found)

        self.counted(self.zero, self.n, 1, climb, "k")
        self.counted(self.zero, self.n, 1, add, "k")
        found = [self.read(part) for part in sums]
        factors = [self.applied("log", one) if self.log else 1 / one for one in found]

        def finish(k: Value) -> None:
            both = zip(vectors(k, 0), vectors(k, 1), tops, factors, strict=True)
            for at, to, top, factor in both:
                if self.log:
                    value = self.fetched(places[0], at, mask) - self.read(top) - factor
                else:
                    value = self.fetched(places[1], to, mask) * factor
                self.put(value, places[1], to, mask)

        self.counted(self.zero, self.n, 1, finish, "k")
