"""CumSum and CumProd: what the elements of a row come to, up to each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout, simplified
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.folds import ELEMENTS, FOLDS
from sardonyx._src.compile.rows.vectors import RowsText, rows_of_unit
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Element, Value
from sardonyx._src.ir.dims import ceil_div

WIDE = 256  # columns of a unit


@dataclass(frozen=True, slots=True)
class Run:
    """Sums or products; `exclusive` ones leave the element itself out, `reverse` ones begin at the end."""

    product: bool = False
    exclusive: bool = False
    reverse: bool = False


def running(x: Tensor, y: Tensor, axis: int, run: Run, nodes: tuple[str, ...] = ()) -> Step | None:
    """y = the elements of x along an axis taken together up to each; one after the other, as NumPy rounds them.

    x, y: of one shape and type; they may be one tensor.  None for types that have no kernel.
    """
    element, axis = ELEMENTS.get(x.dtype), axis % x.rank
    if element is None:
        return None
    n, steps, ends = x.shape[axis], [x.strides[axis], y.strides[axis]], [x, y]
    if run.reverse:
        ends = [replace(t, offset=t.offset + (n - 1) * t.strides[axis]) for t in ends]
        steps = [-step for step in steps]
    rest = simplified(Layout(x.shape, (x.strides, y.strides)).without(axis), by=1)
    inner = next((d for d in range(rest.rank) if all(s[d] == 1 for s in rest.strides)), None)
    columns = 1 if inner is None else rest.shape[inner]
    rows = rows_of(rest if inner is None else rest.without(inner), by=1)
    wide, rank = inner is not None, rows.rank
    many = 1 if wide else rows_of_unit(n)
    form = f"{element}_{'product' if run.product else 'sum'}{'_before' * run.exclusive}_{rank}_{wide}"
    kernel = Kernel(
        f"running_{form}",
        lambda name, target: RunningText(target, element, run, rank, wide=wide).module(name),
    )
    args = (*ends, rows.count, many, columns, n, *steps, *rows.words())
    units = ceil_div(rows.count, many) * ceil_div(columns, WIDE)
    return Step(kernel, args, units, (x,), (y,), flops=x.count, traffic=x.bytes + y.bytes, nodes=nodes)


class RunningText(RowsText):
    """The text of running sums or products.

    args: x, y, rows, rows of a unit, columns side by side, n, steps along the axis of x and of y, dims of the rows.
    """

    def __init__(self, target: Target, element: Element, run: Run, rank: int, *, wide: bool) -> None:
        super().__init__(target if wide else replace(target, lanes=1), element)
        self.run, self.fold = run, FOLDS["prod" if run.product else "sum"]
        self.sides = [self.pointer(0), self.pointer(1)]
        rows, many, columns, self.n, *self.steps = (self.size(i) for i in range(2, 8))
        dims = self.dims(8, rank, 2)

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            def row(_: Value, offsets: list[Value]) -> None:
                places = [self.row(s, o + column) for s, o in zip(self.sides, offsets, strict=True)]
                self.along(count, lambda i, _, mask: self.block(places, i, mask), 1)

            self.walk(dims, first, end, row)

        self.shared(rows, many, columns, WIDE, unit)

    def block(self, places: list[str], i: Value, mask: Value | None) -> None:
        """A vector of columns, from their first entry to their last."""
        total: Slot = self.gathers(self.fold.start, 1)[0]

        def entry(k: Value) -> None:
            before = self.read(total)
            after = self.fold.join(self, before, self.fetched(places[0], i + k * self.steps[0], mask))
            self.put(before if self.run.exclusive else after, places[1], i + k * self.steps[1], mask)
            self.write(total, after)

        self.counted(self.zero, self.n, 1, entry, "k")
