"""Runs of bytes or of equal elements, from nothing up to any length."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.walk import WalkText
from sardonyx._src.compile.text import Element, Kind, Value

ELEMENTS: dict[int, Element] = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
UNROLLED = 4


class RunText(WalkText):
    """The text of a kernel that moves elements as they are."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.fused)
        self.vector = Kind("i8", target.lanes * 4)

    def place(self, base: str, offset: Value) -> str:
        """The name of the address some bytes behind a base."""
        return self.address(base, offset, "i8")

    def copied(self, source: str, target: str, count: Value) -> None:
        """So many bytes from one address to another one.

        Whole vectors first; the last one overlaps the one before.  What is shorter than a vector goes as two
        overlapping halves of a power of two.
        """
        width = self.vector.lanes

        def vectors(many: int, i: Value) -> None:
            found = [self.read(Slot(self.place(source, i + v * width), self.vector)) for v in range(many)]
            for v, one in enumerate(found):
                self.write(Slot(self.place(target, i + v * width), self.vector), one)

        done = self.counted(self.constant(0, I64), count, UNROLLED * width, lambda i: vectors(UNROLLED, i))
        done = self.counted(done, count, width, lambda i: vectors(1, i))
        whole = count >= width
        self.when((done < count) & whole, lambda: vectors(1, count - width))
        self.when(whole.equals(0), lambda: self.short(source, target, count))

    def short(self, source: str, target: str, count: Value) -> None:
        """Fewer bytes than a vector has."""
        size = self.vector.lanes // 2
        while size:
            kind = Kind("i8", size)

            def halves(kind: Kind = kind) -> None:
                places = [self.constant(0, I64), count - kind.lanes]
                found = [self.read(Slot(self.place(source, i), kind)) for i in places]
                for i, one in zip(places, found, strict=True):
                    self.write(Slot(self.place(target, i), kind), one)

            self.when((count >= size) & (count < 2 * size), halves)
            size //= 2

    def filled(self, value: Value, target: str, count: Value) -> None:
        """So many elements from an address on, all of a scalar's value."""
        width = next(size for size, element in ELEMENTS.items() if element == value.kind.element)
        lanes = max(self.vector.lanes // width, 1)
        wide = self.spread(value, lanes)

        def vectors(many: int, i: Value) -> None:
            for v in range(many):
                self.write(Slot(self.place(target, (i + v * lanes) * width), wide.kind), wide)

        done = self.counted(self.constant(0, I64), count, UNROLLED * lanes, lambda i: vectors(UNROLLED, i))
        done = self.counted(done, count, lanes, lambda i: vectors(1, i))
        if lanes > 1:
            self.counted(
                done, count, 1, lambda i: self.write(Slot(self.place(target, i * width), value.kind), value)
            )
