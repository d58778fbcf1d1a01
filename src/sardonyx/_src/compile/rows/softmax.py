"""Softmax and LogSoftmax: rows along the last dim, or columns along any other one."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.elements import ELEMENTS, converted
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.columns import softmax_of_columns
from sardonyx._src.compile.rows.folds import exponential
from sardonyx._src.compile.rows.vectors import LOWEST, RowsText, rows_of_unit, units, word
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.dtypes import DataType


def softmax(
    x: Tensor,
    y: Tensor,
    axis: int = -1,
    *,
    log: bool = False,
    scale: float | None = None,
    mask: Tensor | None = None,
    half: DataType | None = None,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y = softmax(x * scale + mask), or its logarithm, along an axis; None where the layout has no kernel.

    x, y: [..., n, ...] float32, which may be one tensor.  mask: broadcast to x by strides of 0, dense along the axis.
    half: a type of 16 bits whose numbers x has, and to which every step rounds.  Scale, mask and that are known along the
    last axis alone.  A row without numbers, of -inf alone or with +inf is NaN.
    """
    axis %= x.rank
    given = [x, y] if mask is None else [x, y, mask]
    layout = Layout(x.shape, tuple(t.strides for t in given))
    if layout.shape[axis] == 1 or all(s[axis] == 1 for s in layout.strides):
        return along_rows(
            layout, given, axis, Form(log, scale is not None, mask is not None, half), scale, nodes
        )
    if scale is not None or mask is not None or half is not None:
        return None
    return softmax_of_columns(layout, x, y, axis, log=log, nodes=nodes)


@dataclass(frozen=True, slots=True)
class Form:
    """What a kernel does besides."""

    log: bool
    scaled: bool
    masked: bool
    half: DataType | None = None

    @property
    def key(self) -> str:
        half = "" if self.half is None else f"{self.half.text}_"
        return f"{'log_' * self.log}{'scaled_' * self.scaled}{'masked_' * self.masked}{half}rows"


def along_rows(
    layout: Layout, given: list[Tensor], axis: int, form: Form, scale: float | None, nodes: tuple[str, ...]
) -> Step:
    n, rows = layout.shape[axis], rows_of(layout.without(axis), by=1)
    rank = rows.rank
    kernel = Kernel(
        f"softmax_{form.key}_{rank}", lambda name, target: SoftmaxText(target, form, rank).module(name)
    )
    args: tuple[Arg, ...] = (*given, *(() if scale is None else (word(scale),)))
    args = (*args, rows.count, rows_of_unit(n), n, *rows.words())
    reads = (given[0], *given[2:])
    x, y, count = given[0], given[1], layout.count
    return Step(
        kernel,
        args,
        units(rows.count, n),
        reads or (x,),
        (y,),
        flops=count * 30,
        traffic=count * 8,
        nodes=nodes,
    )


class SoftmaxText(RowsText):
    """The text of a softmax along rows.

    args: x, y, then mask and scale where there are any, rows, rows of a unit, n, dims of the rows.
    """

    def __init__(self, target: Target, form: Form, rank: int) -> None:
        super().__init__(target)
        self.form = form
        operands = 3 if form.masked else 2
        self.bases = [self.pointer(i) for i in range(operands)]
        at = operands
        if form.scaled:
            self.scale = self.wide(self.real(at))
            at += 1
        rows, many, self.n = (self.size(at + i) for i in range(3))
        # What a mask wrote is slow to be read again, so that exponentials at the end of a row wait here.
        self.rest = self.new_slot("rest", self.vector)
        self.each_row(rows, many, self.dims(at + 3, rank, operands), self.normalised)

    def normalised(self, _: Value, offsets: list[Value]) -> None:
        places = [self.row(base, offset) for base, offset in zip(self.bases, offsets, strict=True)]
        top = self.wide(self.top(places))
        total = self.exponentials(places, top)
        if self.form.log:
            shift = self.wide(self.applied("log", total))
            self.along(self.n, lambda i, many, mask: self.logarithms(places, top, shift, i, many, mask))
        else:
            factor = self.wide(1 / self.rounded(total))
            self.along(self.n, lambda i, many, mask: self.scaled(places[1], factor, i, many, mask))

    def entry(self, places: list[str], at: Value, mask: Value | None) -> Value:
        """A vector of x, scaled and masked; -inf outside of the row."""
        found = self.fetched(places[0], at, mask, LOWEST)
        if self.form.masked:
            addend = self.fetched(places[2], at, mask)
            return self.fma(found, self.scale, addend) if self.form.scaled else found + addend
        return found * self.scale if self.form.scaled else found

    def top(self, places: list[str]) -> Value:
        """The greatest number of a row; NaN shows up in the sum of the exponentials."""
        parts = self.gathers(LOWEST)

        def body(i: Value, many: int, mask: Value | None) -> None:
            for v, part in enumerate(parts[:many]):
                found = self.entry(places, i + v * self.lanes, mask)
                if mask is not None:
                    found = self.select(mask, found, self.constant(LOWEST, self.vector))
                self.write(part, self.greater(found, self.read(part)))

        self.along(self.n, body)
        return self.total(self.greater, parts)

    def exponentials(self, places: list[str], top: Value) -> Value:
        """Their sum; they themselves go to y unless logarithms are wanted."""
        parts = self.gathers(0)

        def body(i: Value, many: int, mask: Value | None) -> None:
            for v, part in enumerate(parts[:many]):
                at = i + v * self.lanes
                below = self.rounded(self.entry(places, at, mask) - top)
                found = self.rounded(exponential(self, below))
                if mask is not None:
                    self.write(self.rest, found)
                elif not self.form.log:
                    self.put(found, places[1], at, None)
                self.add(part, found, mask)

        self.along(self.n, body)
        return self.total(lambda a, b: a + b, parts)

    def rounded(self, value: Value) -> Value:
        """Floats to the nearest ones of 16 bits, if that is asked."""
        if self.form.half is None:
            return value
        return converted(self, converted(self, value, ELEMENTS[self.form.half]), "float")

    def add(self, part: Slot, value: Value, mask: Value | None) -> None:
        if mask is not None:
            value = self.select(mask, value, self.constant(0, self.vector))
        self.write(part, self.read(part) + value)

    def scaled(self, target: str, factor: Value, i: Value, many: int, mask: Value | None) -> None:
        for v in range(many):
            at = i + v * self.lanes
            found = self.fetched(target, at, None) if mask is None else self.read(self.rest)
            self.put(self.rounded(found * factor), target, at, mask)

    def logarithms(
        self, places: list[str], top: Value, shift: Value, i: Value, many: int, mask: Value | None
    ) -> None:
        for v in range(many):
            at = i + v * self.lanes
            self.put(self.entry(places, at, mask) - top - shift, places[1], at, mask)
