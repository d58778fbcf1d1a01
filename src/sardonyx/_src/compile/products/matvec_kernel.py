"""The kernels of products of few rows with a B that stands as it is: each element of B is read once for a row.

Rows of B either run along the columns of the result, which are then summed in lanes, or along k, and are then summed
across them.
"""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.products.dots import Dots
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value

BLOCK = 128  # columns of a unit
LINE = 16  # floats of a cache line
AHEAD = 8  # rows that are fetched before they are read
TOGETHER = 8  # vectors of sums that do not wait for one another
SIZES = (
    "rows", "columns", "k", "blocks", "inner", "a_row", "a_step", "b_row", "b_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner",
)  # fmt: skip


class Matvec(Dots):
    """The instructions of a batch of products.

    Arguments: A; B; `SIZES`; the result and the pitch of its rows; those of the tail; then for each matrix of the tail
    how far apart it is along the outer and along the inner axis of the batch.
    """

    def __init__(self, tail: Tail, target: Target, *, across: bool) -> None:
        super().__init__(target)
        self.tail, self.across_lanes = tail, across
        self.a, self.b = self.pointer(0), self.pointer(1)
        self.sizes = {name: self.size(i) for i, name in enumerate(SIZES, 2)}
        first = 2 + len(SIZES)
        self.y, self.pitch = self.pointer(first), self.size(first + 1)
        self.operands: list[
            tuple[str, list[Value]]
        ] = []  # addresses, and of matrices the pitch and two steps
        at, more = first + 2, first + 2 + sum(2 if how == "matrix" else 1 for how in tail.operands)
        for how in tail.operands:
            steps = [self.size(one) for one in (at + 1, more, more + 1)] if how == "matrix" else []
            self.operands.append((self.pointer(at), steps))
            at, more = (at + 2, more + 2) if steps else (at + 1, more)

    def unit(self, unit: Value) -> None:
        """All rows by a block of columns."""
        size = self.sizes
        item, block = self.quotient(unit, size["blocks"]), self.remainder(unit, size["blocks"])
        self.item = self.quotient(item, size["inner"]), self.remainder(item, size["inner"])
        first = block * BLOCK
        count = self.least(size["columns"] - first, self.number(BLOCK))
        form = self.by_rows if self.across_lanes else self.by_columns
        self.counted(self.number(0), size["rows"], 1, lambda row: form(row, first, count), "row")

    def moved(self, base: str, name: str) -> str:
        """The address of the item of the batch in work."""
        outer, inner = self.item
        return self.address(base, outer * self.sizes[f"{name}_outer"] + inner * self.sizes[f"{name}_inner"])

    def row_of_a(self, row: Value) -> str:
        return self.address(self.moved(self.a, "a"), row * self.sizes["a_row"])

    # --- forms -------------------------------------------------------------------------------

    def by_columns(self, row: Value, first: Value, count: Value) -> None:
        """Several vectors of columns at a time, and what is left one by one."""
        a, b = self.row_of_a(row), self.address(self.moved(self.b, "b"), first)
        step = TOGETHER * self.lanes

        def several(column: Value) -> None:
            self.vectors(a, self.address(b, column), row, first + column, TOGETHER, None)

        def one(column: Value, mask: Value | None) -> None:
            column = reached + column
            self.vectors(a, self.address(b, column), row, first + column, 1, mask)

        reached = self.counted(self.number(0), count, step, several, "column")
        self.each(count - reached, one)

    def vectors(self, a: str, b: str, row: Value, column: Value, count: int, mask: Value | None) -> None:
        slots = [self.new_slot("sum", self.vector) for _ in range(count)]
        for slot in slots:
            self.write(slot, self.constant(0.0, self.vector))

        def add(k: Value) -> None:
            factor = self.scalar(self.address(a, k * self.sizes["a_step"]))
            line = self.address(b, k * self.sizes["b_row"])
            self.fetch_line(b, k + AHEAD, count)
            for v, slot in enumerate(slots):
                part = self.taken(self.address(line, self.number(v * self.lanes)), mask)
                self.write(slot, self.fma(factor, part, self.read(slot)))

        self.counted(self.number(0), self.sizes["k"], 1, add, "k")
        for v, slot in enumerate(slots):
            self.finish(self.read(slot), row, column + v * self.lanes, mask)

    def fetch_line(self, b: str, k: Value, count: int) -> None:
        """Brings some vectors of a later row near: rows are too far apart for the processor to see where they go."""
        line = self.address(b, k * self.sizes["b_row"])
        for start in range(0, count * self.lanes, LINE):
            self.fetch(self.address(line, self.number(start)))

    def by_rows(self, row: Value, first: Value, count: Value) -> None:
        """As many columns at a time as there are lanes, each a row of B."""
        a, b = self.row_of_a(row), self.moved(self.b, "b")

        def some(column: Value) -> None:
            columns = [first + self.least(column + i, count - 1) for i in range(self.lanes)]
            rows = [self.address(b, one * self.sizes["b_step"]) for one in columns]
            found = self.dots(a, rows, self.sizes["k"])
            self.finish(found, row, first + column, self.inside(count - column))

        self.counted(self.number(0), count + (self.lanes - 1), self.lanes, some, "column")

    # --- results -----------------------------------------------------------------------------

    def finish(self, value: Value, row: Value, column: Value, mask: Value | None) -> None:
        """Writes a vector of the result behind the tail."""

        def leaf(name: Local | Load) -> Value:
            assert isinstance(name, Local), f"a tail has no {name}"
            return value if name.name == "x" else self.beside(int(name.name[1:]), row, column, mask)

        found = self.evaluated(self.tail.value, self.vector, leaf)
        y = self.moved(self.y, "y")
        self.put(found, self.address(y, row * self.pitch + column), mask)

    def beside(self, index: int, row: Value, column: Value, mask: Value | None) -> Value:
        address, steps = self.operands[index]
        if self.tail.operands[index] == "scalar":
            return self.spread(self.read(Slot(address, Kind("float"))), self.lanes)
        if not steps:
            return self.taken(self.address(address, column), mask)
        pitch, outer, inner = steps
        offset = self.item[0] * outer + self.item[1] * inner + row * pitch + column
        return self.taken(self.address(address, offset), mask)
