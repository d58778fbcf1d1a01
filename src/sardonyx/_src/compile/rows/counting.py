"""Numbers in a row, each some steps behind the one before."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.rows.vectors import WORK, RowsText
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Element, Value
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

ELEMENTS: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}


def counted(y: Tensor, start: Known, delta: Known) -> Step:
    """y[i] = start + i * delta; y: int64 or int32 [n], dense."""
    element = ELEMENTS[y.dtype]
    assert y.is_dense and y.rank == 1, f"{y} is no row"
    kernel = Kernel(f"counting_{element}", lambda name, target: CountingText(target, element).module(name))
    return Step(kernel, (y, y.count, start, delta), ceil_div(y.count, WORK), (), (y,), traffic=y.bytes)


class CountingText(RowsText):
    """The text of a row of numbers; args: y, n, start, delta."""

    def __init__(self, target: Target, element: Element) -> None:
        super().__init__(target, element)
        self.y = self.pointer(0)
        n, self.start, self.delta = (self.size(i) for i in range(1, 4))
        lanes = ", ".join(f"{element} {lane}" for lane in range(self.lanes))
        self.numbers = Value(self, self.vector, f"<{lanes}>" if self.lanes > 1 else "0")
        self.counted(self.first, self.last, 1, lambda unit: self.unit(unit * WORK, n), "unit")

    def unit(self, first: Value, n: Value) -> None:
        place = self.row(self.y, first)
        count = self.least(n - first, self.constant(WORK, n.kind))
        self.along(count, lambda i, many, mask: self.block(place, first, i, many, mask))

    def block(self, place: str, first: Value, i: Value, many: int, mask: Value | None) -> None:
        for v in range(many):
            at = i + v * self.lanes
            begin, step = (self.narrow(one) for one in (self.start + (first + at) * self.delta, self.delta))
            self.put(self.wide(begin) + self.numbers * self.wide(step), place, at, mask)

    def narrow(self, value: Value) -> Value:
        return value if self.element == "i64" else value.converted("trunc", "i32")
