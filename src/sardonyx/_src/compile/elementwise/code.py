"""The text of elementwise kernels: blocks of rows, and vectors along them."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.elements import HALVES, fetched, memory
from sardonyx._src.compile.elementwise.form import Form
from sardonyx._src.compile.elementwise.stretch import Stretch
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, distinct
from sardonyx._src.compile.tensor import width
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import INTRINSICS, OF_ONE, OF_TWO, KernelText

BLOCK = 4096  # elements of a unit of work, about
LIGHT = {
    *INTRINSICS,
    *OF_ONE,
    *OF_TWO,
    "lt",
    "le",
    "eq",
    "where",
    "fma",
    "clamp",
}  # operations of few instructions
UNROLLED = 4  # vectors at once; of one function 2 fill the processor, of several in a row not


class ElementwiseCode(KernelText):
    """The instructions of an elementwise kernel."""

    def __init__(self, form: Form, target: Target) -> None:
        super().__init__(target.fused)
        self.form = form
        widest = max(4 if o.dtype in HALVES else width(o.dtype) for o in form.operands)
        self.lanes = max(target.lanes * 4 // widest, 1) if target.lanes > 1 else 1
        self.masked = target.lanes == 16 or (target.lanes == 8 and self.lanes <= 8 and self.all_wide)
        self.unrolled = 2 if len(heavy(form)) == 1 else UNROLLED
        self._next = len(form.operands)
        self.length, self.rows, self.rows_of_unit = (self.argument() for _ in range(3))
        self.dims = [self.argument() for _ in range(form.rank - 1)]
        self.strides = [[self.argument() for _ in range(form.rank)] for _ in form.operands]
        self.steps = [self.argument() if o.way == "far" else None for o in form.operands]
        self.bases = [self.pointer(i) for i in range(len(form.operands))]

    @property
    def all_wide(self) -> bool:
        """Whether every element is as wide as those that masks of 256 bits are for."""
        return all(width(o.dtype) >= 4 for o in self.form.operands)

    def argument(self) -> Value:
        """The next size among the arguments."""
        self._next += 1
        return self.size(self._next - 1)

    # --- rows --------------------------------------------------------------------------------

    def units(self) -> None:
        """All units: of one row that is a stretch of it, of many rows a block of them, maybe cut into columns."""
        if self.form.rank == 0:
            self.row(self.bases, self.first * BLOCK, self.least(self.last * BLOCK, self.length))
            return
        cuts = self.emit(I64, f"udiv {self.length + (BLOCK - 1)}, {BLOCK}")
        self.counted(self.first, self.last, 1, lambda unit: self.unit(unit, cuts), "unit")

    def unit(self, unit: Value, cuts: Value) -> None:
        block = self.emit(I64, f"udiv {unit}, {cuts.name}")
        first = (unit - block * cuts) * BLOCK
        end = self.least(first + BLOCK, self.length)
        row = block * self.rows_of_unit
        places = [self.new_slot("index", I64) for _ in self.dims]
        bases = [self.new_slot("base", Kind("i64")) for _ in self.form.operands]
        self.start(row, places, bases)

        def body(_: Value) -> None:
            addresses = [
                self.address(base, self.read(at), memory(o.dtype).written)
                for base, at, o in zip(self.bases, bases, self.form.operands, strict=True)
            ]
            self.row(addresses, first, end)
            self.advance(len(self.dims), places, bases)

        self.counted(row, self.least(row + self.rows_of_unit, self.rows), 1, body, "row")

    def start(self, row: Value, places: list[Slot], bases: list[Slot]) -> None:
        """Sets the indexes along all dims but the first, and where the row begins in each tensor."""
        indexes: list[Value] = []
        for dim in reversed(self.dims):
            outer = self.emit(I64, f"udiv {row}, {dim.name}")
            indexes.insert(0, row - outer * dim)
            row = outer
        for slot, index in zip(places, indexes, strict=True):
            self.write(slot, index)
        for slot, strides in zip(bases, self.strides, strict=True):
            total = self.constant(0, I64)
            for index, stride in zip([row, *indexes], strides, strict=True):
                total = total + index * stride
            self.write(slot, total)

    def advance(self, axis: int, places: list[Slot], bases: list[Slot]) -> None:
        """Goes to the next row along a dim; at its end back to the first one, and on along the dim outside."""
        for base, strides in zip(bases, self.strides, strict=True):
            self.write(base, self.read(base) + strides[axis])
        if axis == 0:
            return
        dim, place = self.dims[axis - 1], places[axis - 1]
        self.write(place, self.read(place) + 1)

        def wrap() -> None:
            self.write(place, self.constant(0, I64))
            for base, strides in zip(bases, self.strides, strict=True):
                self.write(base, self.read(base) - dim * strides[axis])
            self.advance(axis - 1, places, bases)

        self.when(self.read(place) >= dim, wrap)

    # --- along a row -------------------------------------------------------------------------

    def row(self, addresses: list[str], first: Value, end: Value) -> None:
        """The elements of a row from `first` up to `end`; several vectors at once, single ones, and the rest."""
        same = {
            i: fetched(self.read(Slot(addresses[i], memory(o.dtype))), o.dtype)
            for i, o in enumerate(self.form.operands)
            if o.way == "same" and i >= len(self.form.outputs)
        }

        def whole(lanes: int, count: int) -> Callable[[Value], None]:
            return Stretch(self, self.form, addresses, self.steps, same, lanes, count).whole

        def part(i: Value) -> None:
            """One vector, of which only what lies before the end is touched."""
            mask = self.first_lanes(end - i, self.lanes)
            Stretch(self, self.form, addresses, self.steps, same, self.lanes, 1, mask).whole(i)

        step = self.lanes * self.unrolled
        reached = self.counted(first, end, step, whole(self.lanes, self.unrolled), "vectors")
        if self.masked:
            self.counted(reached, end + (self.lanes - 1), self.lanes, part, "vector")
            return
        for lanes in dict.fromkeys((self.lanes, 1)):
            reached = self.counted(reached, end, lanes, whole(lanes, 1), "vector")


def heavy(form: Form) -> list[Apply]:
    """The operations that are functions of many instructions."""
    every = [one for value in form.values for one in distinct(value)]
    return [one for one in every if isinstance(one, Apply) and one.op not in LIGHT]
