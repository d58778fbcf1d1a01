"""Rows in blocks that a tile does together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.products.micro import Micro
from sardonyx._src.compile.text import Value


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a unit that are done together: which block it is, its first row, and how many rows it has."""

    index: Value
    row: Value
    left: Value


class RowBlocks(Micro):
    """The instructions of loops over blocks of rows."""

    def blocks(self, count: Value, body: Callable[[Block], None]) -> None:
        """The body for blocks of so many rows: whole tiles, then such with one row less if that comes out even."""
        rows, zero = self.tile.rows, self.constant(0, I64)
        blocks = self.quotient(count + (rows - 1), rows)
        low = blocks * rows - count
        low = self.select(low <= blocks, low, zero)
        high = blocks - low

        def block(i: Value) -> None:
            is_low = i >= high
            row = i * rows - self.select(is_low, i - high, zero)
            height = self.select(is_low, rows - 1, self.constant(rows, I64))
            body(Block(i, row, self.least(height, count - row)))

        self.counted(zero, blocks, 1, block, "block")
