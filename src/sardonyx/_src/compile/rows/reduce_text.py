"""Kernels of reductions.  The order in which elements are taken together depends on sizes alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.rows.folds import Fold, Name
from sardonyx._src.compile.rows.vectors import LOWEST, RowsText
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.text import Element, Value

WIDE = 256  # columns of a unit


@dataclass(frozen=True, slots=True)
class Reduction:
    """An operator for elements of a type, and what becomes of its results."""

    name: Name
    element: Element
    fold: Fold
    tail: Tail

    def __post_init__(self) -> None:
        assert not self.tail.operands, "tails of reductions have no operands"

    @property
    def key(self) -> str:
        return f"{self.name}_{self.element}_{self.tail.key}"


class ReduceText(RowsText):
    """What both forms share."""

    def __init__(self, target: Target, reduction: Reduction) -> None:
        super().__init__(target, reduction.element)
        self.reduction, self.fold = reduction, reduction.fold
        self.x, self.y = self.pointer(0), self.pointer(1)

    def join(self, a: Value, b: Value) -> Value:
        return self.fold.join(self, a, b)

    def exponents(self, top: Value) -> Value:
        """What exponents are lessened by: the greatest of them, 0 where that is not finite."""
        is_finite = self.absolute(top) < math.inf
        return self.select(is_finite, top, self.constant(0, top.kind))

    def finished(self, found: Value, top: Value | None, count: Value) -> Value:
        """A result, which is a scalar or a vector."""
        number = count.converted("sitofp", self.element) if self.scalar.is_float else count
        if self.scalar.element == "i32":
            number = self.constant(1, self.scalar)  # integers have no mean
        found = self.fold.finish(self, found, self.spread(number, found.kind.lanes))
        found = found if top is None else found + top

        def leaf(named: Local | Load) -> Value:
            assert named == RESULT, f"{named} is no result"
            return found

        if self.reduction.tail.value == RESULT:
            return found
        return self.evaluated(self.reduction.tail.value, found.kind, leaf)

    def taken(self, slot: Slot, fold: Fold, value: Value, mask: Value | None) -> None:
        value = fold.term(self, value)
        if mask is not None:
            value = self.select(mask, value, self.constant(fold.start, self.vector))
        self.write(slot, fold.join(self, self.read(slot), value))

    @property
    def climb(self) -> Fold:
        """The greatest element, whatever becomes of NaN."""
        return Fold(LOWEST, lambda code, a, b: self.greater(b, a))


class RowReduceText(ReduceText):
    """The text of a reduction of rows.

    args: x, y, results, results of a unit, elements of a result, n, step along the row, rows of a result, dims of the
    results, dims of the rows of a result.
    """

    def __init__(
        self, target: Target, reduction: Reduction, ranks: tuple[int, int], *, in_a_row: bool
    ) -> None:
        super().__init__(target if in_a_row else replace(target, lanes=1), reduction)
        rows, many, self.count, self.n, self.step, self.more = (self.size(i) for i in range(2, 8))
        dims = self.dims(8, ranks[0], 2)
        self.inner = self.dims(8 + 3 * ranks[0], ranks[1], 1)
        self.in_a_row = in_a_row
        self.each_row(rows, many, dims, self.result)

    def result(self, _: Value, offsets: list[Value]) -> None:
        source, target = self.row(self.x, offsets[0]), self.row(self.y, offsets[1])
        top = None
        if self.reduction.name == "log_sum_exp":
            top = self.exponents(self.came_to(source, self.climb, None))
        found = self.came_to(source, self.fold, top)
        self.write(Slot(target, self.scalar), self.finished(found, top, self.count))

    def came_to(self, source: str, fold: Fold, less: Value | None) -> Value:
        """All elements taken together, after something is taken off each."""
        parts = self.gathers(fold.start)
        wide = None if less is None else self.wide(less)

        def row(_: Value, offsets: list[Value]) -> None:
            base = self.row(source, offsets[0])

            def body(i: Value, many: int, mask: Value | None) -> None:
                for v, part in enumerate(parts[:many]):
                    at = i + v * self.lanes
                    found = self.fetched(base, at if self.in_a_row else at * self.step, mask)
                    self.taken(part, fold, found if wide is None else found - wide, mask)

            self.along(self.n, body)

        self.walk(self.inner, self.zero, self.more, row)
        return self.total(lambda a, b: fold.join(self, a, b), parts)


class ColumnReduceText(ReduceText):
    """The text of a reduction of columns.

    args: x, y, rows, rows of a unit, columns, elements of a result, dims of the rows, dims of the elements.
    """

    def __init__(self, target: Target, reduction: Reduction, ranks: tuple[int, int]) -> None:
        super().__init__(target, reduction)
        rows, many, n, self.count = (self.size(i) for i in range(2, 6))
        dims = self.dims(6, ranks[0], 2)
        self.inner = self.dims(6 + 3 * ranks[0], ranks[1], 1)
        vectors = target.registers // 2  # long pieces of rows: memory likes them

        def unit(first: Value, end: Value, column: Value, count: Value) -> None:
            def row(_: Value, offsets: list[Value]) -> None:
                source, target = (
                    self.row(base, o + column) for base, o in zip((self.x, self.y), offsets, strict=True)
                )
                self.along(count, lambda i, many, mask: self.block(source, target, i, many, mask), vectors)

            self.walk(dims, first, end, row)

        self.shared(rows, many, n, WIDE, unit)

    def block(self, source: str, target: str, i: Value, many: int, mask: Value | None) -> None:
        """Some vectors of columns."""
        tops: list[Value] = []
        if self.reduction.name == "log_sum_exp":
            tops = [self.exponents(one) for one in self.came_to(source, self.climb, [], i, many, mask)]
        found = self.came_to(source, self.fold, tops, i, many, mask)
        for v, one in enumerate(found):
            result = self.finished(one, tops[v] if tops else None, self.count)
            self.put(result, target, i + v * self.lanes, mask)

    def came_to(
        self, source: str, fold: Fold, less: list[Value], i: Value, many: int, mask: Value | None
    ) -> list[Value]:
        parts = self.gathers(fold.start, many)

        def row(_: Value, offsets: list[Value]) -> None:
            for v, part in enumerate(parts):
                found = self.fetched(source, offsets[0] + i + v * self.lanes, mask)
                self.taken(part, fold, found - less[v] if less else found, None)

        self.walk(self.inner, self.zero, self.count, row)
        return [self.read(part) for part in parts]
