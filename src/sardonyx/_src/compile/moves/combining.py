"""Scatters whose updates are added to what is there, multiplied with it, or held against it."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.picking import Form, PickText
from sardonyx._src.compile.step import Kernel
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.dtypes import DataType

ELEMENTS: dict[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
}
REDUCTIONS = ("add", "mul", "max", "min")


def combining(form: Form, reduction: str, dtype: DataType) -> Kernel:
    """The kernel that combines rows of x, one after the other, with those of y that tuples of indices lead to."""
    assert form.side == "y" and reduction in REDUCTIONS, f"{reduction} of {form} is no scatter"
    element = ELEMENTS[dtype]
    return Kernel(
        f"{form.key}_{reduction}_{element}",
        lambda name, target: CombineText(target, form, reduction, element).module(name),
    )


class CombineText(PickText):
    """The text of a scatter that combines; arguments as `PickText`'s."""

    def __init__(self, target: Target, form: Form, reduction: str, element: Element) -> None:
        self.reduction, self.own = reduction, Kind(element)
        self.wide = Kind(element, max(target.lanes * 32 // self.own.bits, 1))
        super().__init__(target, form)

    def moved(self, source: str, target: str, count: Value) -> None:
        """So many bytes of the source combined with the target."""
        size = self.own.bits // 8
        if self.size_of_row:
            self.combined(source, target, self.constant(0, I64), self.own)
            return
        done, step = self.constant(0, I64), self.wide.lanes * size
        if self.wide.lanes > 1:
            done = self.counted(done, count, step, lambda i: self.combined(source, target, i, self.wide))
        self.counted(done, count, size, lambda i: self.combined(source, target, i, self.own))

    def combined(self, source: str, target: str, at: Value, kind: Kind) -> None:
        place = Slot(self.place(target, at), kind)
        update = self.read(Slot(self.place(source, at), kind))
        self.write(place, self.applied(self.reduction, self.read(place), update))
