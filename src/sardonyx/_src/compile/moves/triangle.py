"""Triangles of matrices: rows whose elements before or behind a diagonal are zero."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import BLOCK, Layout, merged, without_ones
from sardonyx._src.compile.moves.run import RunText
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.ir.dims import Known, ceil_div, dim_max


def triangle(x: Tensor, y: Tensor, diagonal: Known, *, upper: bool) -> Step:
    """y = x where column - row is at least the diagonal, or at most if it is the lower triangle; 0 elsewhere.

    x, y: [..., n, m] of one type, rows dense.
    """
    size, rank = width(x.dtype), x.rank
    counting = tuple(int(d == rank - 2) for d in range(rank))
    rows = merged(without_ones(Layout(x.shape, (x.strides, y.strides, counting)).without(-1)))
    rows = (rows if rows.rank else rows.inside(1, (0, 0, 0))).scaled((size, size, 1))
    n, dims = x.shape[-1], rows.rank
    many = dim_max(1, BLOCK // dim_max(n, 1))
    kernel = Kernel(
        f"triangle_{'upper' if upper else 'lower'}_{size}_{dims}",
        lambda name, target: TriangleText(target, size, dims, upper=upper).module(name),
    )
    args = (x, y, rows.count, many, n, diagonal, *rows.words())
    return Step(kernel, args, ceil_div(rows.count, many), (x,), (y,), traffic=x.bytes * 2)


class TriangleText(RunText):
    """The text of a triangle.

    args: x, y, rows, rows of a unit, elements of a row, diagonal; dims of the rows: bytes of x, bytes of y, row.
    """

    def __init__(self, target: Target, size: int, rank: int, *, upper: bool) -> None:
        super().__init__(target)
        self.upper, self.size_of_element = upper, size
        self.x, self.y = self.pointer(0), self.pointer(1)
        rows, many, self.n, self.diagonal = (self.size(i) for i in range(2, 6))
        first, last = self.least(self.first * many, rows), self.least(self.last * many, rows)
        self.walk(self.dims(6, rank, 3), first, last, self.row)

    def row(self, _: Value, offsets: list[Value]) -> None:
        none = self.constant(0, self.n.kind)
        cut = offsets[2] + self.diagonal + (0 if self.upper else 1)
        cut = self.least(self.select(cut < 0, none, cut), self.n)
        kept, zero = ((cut, self.n), (none, cut)) if self.upper else ((none, cut), (cut, self.n))
        source, target = self.place(self.x, offsets[0]), self.place(self.y, offsets[1])
        first, count = (part * self.size_of_element for part in (kept[0], kept[1] - kept[0]))
        self.copied(self.place(source, first), self.place(target, first), count)
        place = self.place(target, zero[0] * self.size_of_element)
        self.filled(self.constant(0, Kind("i8")), place, (zero[1] - zero[0]) * self.size_of_element)
