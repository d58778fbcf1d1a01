"""Rows whose pairs of elements are turned by angles: positions of tokens, as attention sees them."""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.vectors import RowsText, rows_of_unit, units
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import Known


def rotated(
    x: Tensor,
    y: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    interleaved: bool,
    positions: Tensor | None = None,
    status: Tensor | None = None,
) -> Step:
    """y = x, but pairs (a, b) of a row become (cos * a - sin * b, sin * a + cos * b).

    x, y: float32 [B, H, L, D], rows dense.  cos, sin: [P, half] under int64 positions [B, L], else [B, L, half]; rows
    dense, 2 * half <= D.  Pairs are elements i and i + half, or neighbours if they are interleaved.  `status` is told of
    a position outside of 0..P-1, whose row is left as it was.
    """
    half, width = cos.shape[-1], x.shape[3]
    given = (x, y, *(() if positions is None else (positions,)), *((cos, sin) if positions is None else ()))
    over = [(one.strides[0], 0, one.strides[1]) for one in given[2:]]
    rows = rows_of(Layout(x.shape[:3], (x.strides[:3], y.strides[:3], *over)), by=1)
    rank, placed = rows.rank, positions is not None
    kernel = Kernel(
        f"rotary{'_pairs' * interleaved}{'_placed' * placed}_{rank}",
        lambda name, target: RotaryText(target, rank, interleaved=interleaved, placed=placed).module(name),
    )
    tensors, further = [x, y, cos, sin], tuple[Known, ...]()
    if positions is not None:
        assert status is not None, "positions are held to a status"
        tensors += [positions, status]
        further = (cos.shape[0], cos.strides[0], sin.strides[0])
    args: tuple[Arg, ...] = (*tensors, rows.count, rows_of_unit(width), half, width, *further, *rows.words())
    reads = (x, cos, sin, *(() if positions is None else (positions,)))
    return Step(
        kernel,
        args,
        units(rows.count, width),
        reads,
        (y, *tensors[5:]),
        flops=x.count * 3,
        traffic=x.bytes * 2,
    )


class RotaryText(RowsText):
    """The text of a rotation of rows.

    args: x, y, cos, sin, with positions these and the status, rows, rows of a unit, half of what is turned, elements of
    a row, with positions how many there are and how far apart rows of cos and of sin are; dims of the rows.
    """

    def __init__(self, target: Target, rank: int, *, interleaved: bool, placed: bool) -> None:
        super().__init__(target)
        self.interleaved, self.placed = interleaved, placed
        self.bases = [self.pointer(i) for i in range(4)]
        at = 4
        if placed:
            self.positions, self.status, at = self.pointer(4), self.pointer(5), 6
        rows, many, self.half, self.width = (self.size(at + i) for i in range(4))
        at += 4
        if placed:
            self.count, *self.pitches = (self.size(at + i) for i in range(3))
            at += 3
        self.each_row(rows, many, self.dims(at, rank, 3 if placed else 4), self.turned)

    def turned(self, _: Value, offsets: list[Value]) -> None:
        x, y = (self.row(base, offset) for base, offset in zip(self.bases[:2], offsets[:2], strict=True))
        if not self.placed:
            angles = [self.row(b, o) for b, o in zip(self.bases[2:], offsets[2:], strict=True)]
            self.whole(x, y, angles)
            return
        place = self.read(Slot(self.address(self.positions, offsets[2], "i64"), self.zero.kind))
        is_good = (place >= 0) & (place < self.count)

        def good() -> None:
            pairs = zip(self.bases[2:], self.pitches, strict=True)
            self.whole(x, y, [self.row(base, place * pitch) for base, pitch in pairs])

        def bad() -> None:
            mark = offsets[2] + 1
            self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")

        self.when(is_good, good)
        self.when(is_good.equals(0), bad)

    def whole(self, x: str, y: str, angles: list[str]) -> None:
        """A row: its pairs, and the elements behind them as they are."""
        if self.interleaved:
            self.neighbours(x, y, angles)
        else:
            self.halves(x, y, angles)
        turned = self.half * 2
        source, target = self.row(x, turned), self.row(y, turned)

        def kept(i: Value, many: int, mask: Value | None) -> None:
            for v in range(many):
                self.put(self.fetched(source, i + v * self.lanes, mask), target, i + v * self.lanes, mask)

        self.along(self.width - turned, kept, 1)

    def pair(self, a: Value, b: Value, cos: Value, sin: Value) -> tuple[Value, Value]:
        return cos * a - sin * b, sin * a + cos * b

    def halves(self, x: str, y: str, angles: list[str]) -> None:
        def block(i: Value, _: int, mask: Value | None) -> None:
            places = (i, i + self.half)
            parts = [self.fetched(x, place, mask) for place in places]
            found = self.pair(*parts, *(self.fetched(angle, i, mask) for angle in angles))
            for value, place in zip(found, places, strict=True):
                self.put(value, y, place, mask)

        self.along(self.half, block, 1)

    def neighbours(self, x: str, y: str, angles: list[str]) -> None:
        """Vectors of pairs taken apart and put together again, then what is left pair by pair."""
        lanes, done = self.lanes, self.zero

        def block(i: Value, _: int, __: Value | None) -> None:
            low, high = (self.fetched(x, i * 2 + part, None) for part in (0, lanes))
            parts = [self.shuffled(low, high, range(odd, 2 * lanes, 2)) for odd in (0, 1)]
            found = self.pair(*parts, *(self.fetched(angle, i, None) for angle in angles))
            for part in (0, lanes):
                mixed = [(part + j) // 2 + j % 2 * lanes for j in range(lanes)]
                self.put(self.shuffled(*found, mixed), y, i * 2 + part, None)

        if lanes > 1:
            done = self.vectors(done, self.half, 1, block)
        self.counted(done, self.half, 1, lambda i: self.one(x, y, angles, i), "pair")

    def one(self, x: str, y: str, angles: list[str], i: Value) -> None:
        places = [i * 2, i * 2 + 1]
        parts = [self.read(Slot(self.row(x, place), self.scalar)) for place in places]
        turns = [self.read(Slot(self.row(angle, i), self.scalar)) for angle in angles]
        for value, place in zip(self.pair(*parts, *turns), places, strict=True):
            self.write(Slot(self.row(y, place), self.scalar), value)
