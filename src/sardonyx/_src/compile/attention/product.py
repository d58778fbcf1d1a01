"""C = f * C + A * B, where B is a panel of vectors: the inner products of attention.

Columns are queries, so that a softmax over keys goes lane by lane; A is read element by element, with any strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.blocks import I64, Blocks, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Kind, Value

ROWS = {
    32: {4: 6, 3: 8, 2: 8, 1: 8},
    16: {2: 6, 1: 8},
}  # of a tile in registers, by their number and vectors of B
LOWER = (4, 2, 1)  # rows of the tiles behind the last whole one
FLOAT = Kind("float")


def widths(target: Target) -> tuple[int, ...]:
    """How many vectors of queries there are kernels for, the widest first."""
    return tuple(ROWS[32 if target.registers >= 32 else 16])


class Product(Blocks):
    """The instructions of a function of a module:

    void name(ptr a, i64 row, i64 step, ptr b, i64 k, ptr c, i64 rows, ptr factor)

    A[r, i] is r*row + i*step floats behind `a`.  b: [k, width], c: [rows, width], factor: [width], or null for 0; C is
    then not read.
    """

    def __init__(self, vectors: int, target: Target) -> None:
        super().__init__(target.fused)
        self.vectors, self.lanes, self.vector = vectors, target.lanes, Kind("float", target.lanes)
        self.height = ROWS[32 if target.registers >= 32 else 16][vectors]
        self.row, self.step, self.k, self.rows = (
            Value(self, I64, f"%{n}") for n in ("row", "step", "k", "rows")
        )

    def text(self, name: str) -> str:
        """The definition of the function."""
        reached = self.constant(0, I64)
        for rows in (self.height, *(r for r in LOWER if r < self.height)):
            reached = self.counted(reached, self.rows, rows, partial(self.tile, rows=rows), "row")
        head = f"define internal void @{name}(ptr %a, i64 %row, i64 %step, ptr %b, i64 %k, ptr %c, i64 %rows, ptr %factor)"
        return "\n".join(
            (f"{head} noinline nounwind {{", "entry:", *self.slots, *self.lines, " ret void", "}")
        )

    def tile(self, first: Value, rows: int) -> None:
        sums = [[self.new_slot("sum", self.vector) for _ in range(self.vectors)] for _ in range(rows)]
        places = [self.places("%c", (first + r) * self.vectors * self.lanes) for r in range(rows)]
        self.start(sums, places)
        starts = [self.address("%a", (first + r) * self.row) for r in range(rows)]
        self.counted(self.constant(0, I64), self.k, 1, lambda k: self.one(k, starts, sums), "k")
        for row, slots in zip(places, sums, strict=True):
            for place, slot in zip(row, slots, strict=True):
                self.write(place, self.read(slot))

    def places(self, base: str, index: Value) -> list[Slot]:
        return [Slot(self.address(base, index + v * self.lanes), self.vector) for v in range(self.vectors)]

    def start(self, sums: Sequence[Sequence[Slot]], places: Sequence[Sequence[Slot]]) -> None:
        for slots in sums:
            for slot in slots:
                self.write(slot, self.constant(0.0, self.vector))
        given = self.emit(Kind("i1"), "icmp ne ptr %factor, null")

        def scaled() -> None:
            factors = [self.read(place) for place in self.places("%factor", self.constant(0, I64))]
            for slots, row in zip(sums, places, strict=True):
                for slot, place, factor in zip(slots, row, factors, strict=True):
                    self.write(slot, self.read(place) * factor)

        self.when(given, scaled)

    def one(self, k: Value, starts: Sequence[str], sums: Sequence[Sequence[Slot]]) -> None:
        """Adds one column of A times one row of B."""
        b = [self.read(place) for place in self.places("%b", k * self.vectors * self.lanes)]
        at = k * self.step
        for start, slots in zip(starts, sums, strict=True):
            a = self.spread(self.read(Slot(self.address(start, at), FLOAT)), self.lanes)
            for slot, column in zip(slots, b, strict=True):
                self.write(slot, self.fma(a, column, self.read(slot)))
