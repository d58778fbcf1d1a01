"""Loops over all pixels of an image, for a vector of channels at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import Channels
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.ir.dims import Known

Two: TypeAlias = Callable[[Value, Value], Value]
STRANDS = 4  # pixels that are added up apart from one another, to keep the adders busy
CHUNK = 512  # pixels that are added up before they go to the sum of all: each takes part in few roundings


def block_of(pixels: Known) -> int:
    """Channels of a unit: those of a line of the cache where there are many pixels, a few lines of few ones."""
    return 64 if isinstance(pixels, int) and pixels < 1024 else 16


class Pixels(Channels):
    """The instructions of a kernel that folds pixels."""

    def __init__(self, target: Target, tail: Tail) -> None:
        super().__init__(target, tail)
        self.strands = [self.new_slot("strand", self.vector) for _ in range(STRANDS)]
        self.total = self.new_slot("total", self.vector)

    def folded(
        self,
        base: str,
        pixels: Value,
        pitch: Value,
        mask: Value | None,
        take: Two,
        join: Two,
        neutral: float = 0.0,
    ) -> Value:
        """The vectors of all pixels from an address on, `pitch` floats apart, taken together.

        take: the sum with one more vector; join: two sums as one; neutral: what sums begin with.
        """
        first = self.constant(neutral, self.vector)

        def one(pixel: Value, strand: int) -> None:
            slot = self.strands[strand]
            x = self.taken(self.address(base, (pixel + strand) * pitch), mask)
            self.write(slot, take(self.read(slot), x))

        def several(pixel: Value) -> None:
            for strand in range(STRANDS):
                one(pixel, strand)

        def chunk(pixel: Value) -> None:
            end = self.least(pixel + CHUNK, pixels)
            for slot in self.strands:
                self.write(slot, first)
            reached = self.counted(pixel, end, STRANDS, several, "pixel")
            self.counted(reached, end, 1, lambda p: one(p, 0), "pixel")
            a, b, c, d = (self.read(slot) for slot in self.strands)
            self.write(self.total, join(self.read(self.total), join(join(a, b), join(c, d))))

        self.write(self.total, first)
        self.counted(self.zero, pixels + (CHUNK - 1), CHUNK, chunk, "chunk")
        return self.read(self.total)

    def summed(self, base: str, pixels: Value, pitch: Value, mask: Value | None) -> Value:
        """The sum of all pixels."""

        def add(a: Value, b: Value) -> Value:
            return a + b

        return self.folded(base, pixels, pitch, mask, add, add)

    def lane_sum(self, value: Value) -> Value:
        """The sum of all lanes, in every lane: halves with halves, so that the order never changes."""
        while value.kind.lanes > 1:
            half = value.kind.lanes // 2
            value = self.part(value, half, 0) + self.part(value, half, half)
        return self.spread(value, self.lanes)

    def part(self, value: Value, lanes: int, start: int) -> Value:
        kind = Kind(value.kind.element, lanes)
        if lanes == 1:
            return self.emit(kind, f"extractelement {value}, i64 {start}")
        places = ", ".join(f"i32 {start + i}" for i in range(lanes))
        return self.emit(kind, f"shufflevector {value}, {value.kind} poison, <{lanes} x i32> <{places}>")
