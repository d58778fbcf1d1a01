"""Convolutions of groups of few channels, as many in as out: the groups of a vector of the input make one of the result.

Each lane of a sum takes the channels of its own group in turn, by moving lanes of the input about.  No lane meets a number
of another group, so that NaN and infinities stay in theirs.
"""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.nest import Part
from sardonyx._src.compile.products.row_blocks import Block
from sardonyx._src.compile.products.windows import Windows
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value


class Narrow(Windows):
    """Code for groups of `narrow` channels; what counts as a group elsewhere is a vector of them."""

    def __init__(self, vectors: int, tail: Tail, target: Target, narrow: int) -> None:
        assert vectors == 1, "groups that share a vector have one"
        super().__init__(vectors, tail, target)
        self.narrow = narrow

    def inputs_of(self, groups: Value) -> Value:
        return groups * self.tile.lanes

    def taps(self, rows: int, block: Block, part: Part, ahead: str) -> None:
        def one(i: Value) -> None:
            weights = self.address(part.weights, i * self.narrow * self.tile.lanes)
            self.tap(self.addresses(rows, block, part.tap + i, part.channel), weights)

        self.counted(self.constant(0, I64), part.taps, 1, one, "tap")

    def tap(self, rows: list[str], weights: str) -> None:
        """Adds what each row has for the groups of a vector, by weights [narrow, lanes]."""
        zero, lanes = self.constant(0, I64), self.tile.lanes
        factors = [self.read(self.vector_at(weights, zero + c * lanes)) for c in range(self.narrow)]
        for row, sums in zip(rows, self.sums, strict=False):
            given = self.read(self.vector_at(row, zero))
            for channel, factor in enumerate(factors):
                mine = self.of_group(given, channel)
                self.write(sums[0], self.fma(mine, factor, self.read(sums[0])))

    def of_group(self, given: Value, channel: int) -> Value:
        """In each lane the number that a channel of its group has."""
        lanes = range(self.tile.lanes)
        mask = ", ".join(f"i32 {lane // self.narrow * self.narrow + channel}" for lane in lanes)
        shuffle = f"shufflevector {given}, {self.vector} poison, <{self.tile.lanes} x i32> <{mask}>"
        return self.emit(self.vector, shuffle)
