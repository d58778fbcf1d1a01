"""The loops of a matrix product around the tile: units, parts of the sum, blocks of rows.

A unit is a group of rows by one panel of B.  Groups come first, so that a panel is fetched from memory once; where k is
long the sum is made in parts whose share of the panel stays in the cache, and partial sums are kept in scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.ending import Ending, Operand, Result
from sardonyx._src.compile.products.row_blocks import Block, RowBlocks
from sardonyx._src.compile.products.tiles import tile_of
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Element, Value

SIZES = (
    "rows", "columns", "k", "panels", "group_rows", "groups", "part", "inner", "a_row", "a_step",
    "a_outer", "a_inner", "b_outer", "b_inner", "y_outer", "y_inner",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """What a unit works on: addresses of A, of its panel and of the panel's bias; rows and columns of the result."""

    a: str
    panel: str
    bias: str | None
    result: Result
    first: Value
    count: Value
    column: Value


class MatmulNest(RowBlocks):
    """The instructions of a batch of matrix products.

    Arguments: A; panels of B; their bias, [panels, width], if there is one; `SIZES`; those of the result; then for each
    matrix of the tail how far apart it is along the outer and along the inner axis of the batch.
    """

    def __init__(
        self,
        vectors: int,
        tail: Tail,
        target: Target,
        *,
        biased: bool,
        strided: bool,
        half: Element | None = None,
    ) -> None:
        """half: what B is of, if not of floats as wide as those of A."""
        super().__init__(tile_of(vectors, target.lanes, target.registers), tail, target.fused)
        self.half = half
        self.strided = strided
        self.a, self.b = self.pointer(0), self.pointer(1)
        self.bias = self.pointer(2) if biased else None
        first = 3 if biased else 2
        self.sizes = {name: self.size(i) for i, name in enumerate(SIZES, first)}
        behind = first + len(SIZES)
        self.written = self.result(behind)
        self.more = behind + 2 + sum(2 if how == "matrix" else 1 for how in tail.operands)

    def units(self) -> None:
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        size, zero = self.sizes, self.constant(0, I64)
        rest, group = self.divided(unit, size["groups"])
        item, panel = self.divided(rest, size["panels"])
        outer, inner = self.divided(item, size["inner"])
        first = group * size["group_rows"]
        place = Place(
            self.moved(self.a, "a", outer, inner),
            self.beyond(self.moved(self.b, "b", outer, inner), panel * size["k"] * self.tile.width),
            None if self.bias is None else self.address(self.bias, panel * self.tile.width),
            self.result_of(outer, inner),
            first,
            self.least(size["rows"] - first, size["group_rows"]),
            panel * self.tile.width,
        )
        parts = self.quotient(size["k"] + size["part"] - 1, size["part"])
        parts = self.select(parts < 1, self.constant(1, I64), parts)
        self.counted(zero, parts, 1, lambda i: self.part(place, i * size["part"]), "part")

    def part(self, place: Place, k: Value) -> None:
        """Adds the products of a part of k to the sums of all rows of the unit."""
        count = self.least(self.sizes["part"], self.sizes["k"] - k)
        self.blocks(place.count, lambda block: self.rows(place, block, k, count))

    def rows(self, place: Place, block: Block, k: Value, count: Value) -> None:
        """A tile: sums begin or go on by `count` terms from k on, and are written or kept.

        Meanwhile a share of the next part of B is fetched, but for a single row, which memory is too slow for anyway.
        """
        size = self.sizes
        kept = self.address(self.scratch, block.index * (self.tile.rows * self.tile.width))
        first = place.first + block.row
        panel = self.beyond(place.panel, k * self.tile.width)
        ahead = self.beyond(panel, count * (self.share(block) * self.line + self.tile.width))
        is_first, is_last = k.equals(0), k + count >= size["k"]

        def sums(rows: int) -> None:
            self.start(rows, place.bias)
            self.when(is_first.equals(0), lambda: self.resume(rows, kept))
            starts = [(first + self.clamped(r, block.left)) * size["a_row"] for r in range(rows)]
            offset = k * size["a_step"] if self.strided else k
            addresses = [self.address(place.a, start + offset) for start in starts]
            step = size["a_step"] if self.strided else None
            self.accumulate(addresses, panel, count, step, None if rows == 1 else ahead)

        ending = Ending(place.result, first, place.column, size["columns"], kept, is_last)
        self.block(block.left, sums, ending)

    def share(self, block: Block) -> Value:
        """Which line of each row of a panel is fetched beside a block."""
        return self.least(block.index, self.constant(-(-self.tile.width // self.line) - 1, I64))

    # --- places ------------------------------------------------------------------------------

    def moved(self, base: str, name: str, outer: Value, inner: Value) -> str:
        """The address of an item of the batch."""
        offset = outer * self.sizes[f"{name}_outer"] + inner * self.sizes[f"{name}_inner"]
        return self.beyond(base, offset) if name == "b" else self.address(base, offset)

    def result_of(self, outer: Value, inner: Value) -> Result:
        operands, at = [], self.more
        for operand in self.written.operands:
            if operand.how == "matrix":
                operand = self.operand_of(operand, at, outer, inner)
                at += 2
            operands.append(operand)
        address = self.moved(self.written.address, "y", outer, inner)
        return replace(self.written, address=address, operands=tuple(operands))

    def operand_of(self, operand: Operand, at: int, outer: Value, inner: Value) -> Operand:
        offset = outer * self.size(at) + inner * self.size(at + 1)
        return replace(operand, address=self.address(operand.address, offset))
