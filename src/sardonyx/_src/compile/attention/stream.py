"""Rows that are fetched ahead of their use, a few lines at a time.

A processor that is given many lines to fetch at once does nothing else until they are under way; one that computes
without them has nothing under way.  So each step of a product fetches its share.
"""

from __future__ import annotations

from sardonyx._src.compile.attention.heads import Heads
from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.text import Value

LINE = 16  # floats of a cache line
DISTANCE = 2304  # floats between what is used and what is fetched
LEAST = 8  # rows between them: those that are in work


class Stream:
    """Rows of keys or values, those of all heads of a unit together, in the order in which they are there."""

    def __init__(self, code: Heads, base: str, length: Value, step: Value) -> None:
        """base: the first row of all; length, step: floats of a row, and from one to the next."""
        self.code, self.base, self.length, self.step = code, base, length, step
        self.place, self.end = (code.new_slot(name, I64) for name in ("place", "end"))
        rows = code.quotient(code.number(DISTANCE), length + 1)
        self.ahead = code.select(rows < LEAST, code.number(LEAST), rows)

    def begin(self, row: Value) -> None:
        """Goes on at so many rows behind the one that is used next."""
        first = (row + self.ahead) * self.step
        self.code.write(self.place, first)
        self.code.write(self.end, first + self.length)

    def fetch(self, lines: int, step: Value | None = None) -> None:
        """Fetches the next lines and goes on, behind them or by so many floats."""
        code = self.code
        place, end = code.read(self.place), code.read(self.end)
        for i in range(lines):
            code.fetch(code.address(self.base, place + LINE * i))
        place = place + (LINE * lines if step is None else step)
        is_behind = place >= end
        code.write(self.place, code.select(is_behind, place + (self.step - self.length), place))
        code.write(self.end, code.select(is_behind, end + self.step, end))
