"""Products of one row with many, summed along the lanes."""

from __future__ import annotations

from sardonyx._src.compile.products.lanes import Lanes
from sardonyx._src.compile.text import Value

CHAINS = 4  # vectors of sums that do not wait for one another


class Dots(Lanes):
    """The instructions of kernels that multiply rows whose elements are 1 apart."""

    def dots(self, a: str, rows: list[str], count: Value) -> Value:
        """The products of a row of `count` floats with as many rows as there are lanes, a lane each."""
        sums: list[Value] = []
        for start in range(0, self.lanes, CHAINS):
            ahead = rows[start + CHAINS : start + 2 * CHAINS]
            sums += self.parts(a, rows[start : start + CHAINS], ahead, count)
        return self.sums(sums)

    def parts(self, a: str, rows: list[str], ahead: list[str], count: Value) -> list[Value]:
        """The products with some rows, not yet summed across the lanes, while those ahead are fetched."""
        slots = [self.new_slot("dot", self.vector) for _ in rows]
        for slot in slots:
            self.write(slot, self.constant(0.0, self.vector))

        def add(i: Value, mask: Value | None) -> None:
            for row in ahead:
                self.fetch(self.address(row, i))
            factor = self.taken(self.address(a, i), mask)
            for row, slot in zip(rows, slots, strict=True):
                self.write(slot, self.fma(factor, self.taken(self.address(row, i), mask), self.read(slot)))

        self.along(count, add)
        return [self.read(slot) for slot in slots]
