"""Convolutions by windows of one pixel, side by side: the input is a plain matrix."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.nest import Nest
from sardonyx._src.compile.products.row_blocks import Block
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value


class Pixels(Nest):
    """Rows are `pitch` floats apart."""

    more = ("pitch",)

    def __init__(self, vectors: int, tail: Tail, target: Target) -> None:
        super().__init__(vectors, tail, target)
        self.base = self.new_slot("base", I64)  # of the block's first input

    def prepare(self, block: Value) -> None:
        size = self.sizes
        row = block * size["group_rows"]
        self.write(self.row, row)
        self.write(self.count, self.least(size["group_rows"], size["rows"] - row))
        self.write(self.base, row * size["pitch"])

    def addresses(self, rows: int, block: Block, tap: Value, channel: Value) -> list[str]:
        pitch = self.sizes["pitch"]
        first = self.address(self.x, self.read(self.base) + block.row * pitch + channel)
        return [self.address(first, self.clamped(r, block.left) * pitch) for r in range(rows)]

    def next_inputs(self, block: Block) -> str:
        row = self.read(self.count) + block.row
        return self.address(self.x, self.read(self.base) + row * self.sizes["pitch"])
