"""A tile of sums of products of bytes: that of `micro.Micro`, whose numbers are words of four bytes.

Sums are integers of 32 bits, which wrap around; what is written may be of any type.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.elements import ELEMENTS, memory
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.products.bytes import Bytes
from sardonyx._src.compile.products.ending import Operand, Result
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.products.micro import LINE, Micro
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Kind, Value

WORD = Kind("i32")
SIGNS = -0x7F7F7F80  # the highest bit of each byte of a word


class IntegerMicro(Micro):
    """To be put in front of a class of loops around a tile, whose constructor calls `in_bytes` when all else is there."""

    def in_bytes(self, tail: Tail, target: Target, *, flips: bool) -> None:
        """Makes words of the numbers; flips: whether A has signs, which 128 more takes away."""
        assert isinstance(tail, IntegerTail), "sums of integers have a tail of their own"
        self.typed, self.flips = tail, flips
        self.bytes = Bytes(self, target)
        self.vector = Kind("i32", self.tile.lanes)
        self.sums = [
            [self.new_slot("total", self.vector) for _ in range(self.tile.vectors)]
            for _ in range(self.tile.rows)
        ]

    def one(self, rows: Sequence[str], panel: str, k: Value, stride: Value | None, ahead: str | None) -> None:
        """Adds one word of each row of A times one row of words of B."""
        assert stride is None, "words of a row lie side by side"
        if ahead is not None:
            self.prefetch(ahead, k * LINE)
        base = k * self.tile.width
        places = [self.vector_at(panel, base + v * self.tile.lanes) for v in range(self.tile.vectors)]
        right = [self.bytes.right(self.read(place)) for place in places]
        for row, sums in zip(rows, self.sums, strict=False):
            left = self.bytes.left(self.word(row, k))
            for slot, b in zip(sums, right, strict=True):
                self.write(slot, self.bytes.added(self.read(slot), left, b))

    def word(self, row: str, k: Value) -> Value:
        """Four bytes of a row of A in every lane."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f" {name} = load i32, ptr {self.address(row, k)}, align 1")
        found = self.spread(Value(self, WORD, name), self.tile.lanes)
        return found ^ SIGNS if self.flips else found

    # --- results -----------------------------------------------------------------------------

    @property
    def written_kind(self) -> Kind:
        return Kind(ELEMENTS[self.typed.to], self.tile.lanes)

    def result_at(self, result: Result, row: Value, column: Value) -> Slot:
        kind = self.written_kind
        return Slot(self.address(result.address, row * result.pitch + column, kind.written), kind)

    def leaf(
        self, value: Value, row: Value, column: Value, mask: Value | None, result: Result, name: Local | Load
    ) -> Value:
        assert isinstance(name, Local), f"a tail has no {name}"
        if name.name == "x":
            return value
        return self.typed_operand(int(name.name[1:]), result, row, column, mask)

    def typed_operand(
        self, index: int, result: Result, row: Value, column: Value, mask: Value | None
    ) -> Value:
        """The vector of an operand beside a vector of the result."""
        operand: Operand = result.operands[index]
        one = memory(self.typed.types[index])
        if operand.how == "scalar" or index in self.typed.rows:
            at = self.constant(0, I64) if operand.pitch is None else row * operand.pitch
            return self.spread(
                self.read(Slot(self.address(operand.address, at, one.written), one)), self.tile.lanes
            )
        at = column if operand.pitch is None else row * operand.pitch + column
        place = Slot(self.address(operand.address, at, one.written), Kind(one.element, self.tile.lanes))
        return self.read(place) if mask is None or self.tile.lanes == 1 else self.read_where(mask, place)
