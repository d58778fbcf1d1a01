"""Some lanes of a vector: masks, memory by masks, shuffles, and lanes taken together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.compile.blocks import Slot, alignment
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText


class LaneText(KernelText):
    """The text of a kernel that deals with the ends of rows by masks."""

    def mask(self, count: Value, lanes: int) -> Value:
        """The first `count` lanes: of one lane a plain truth."""
        if lanes == 1:
            return count > 0
        return self.first_lanes(count, lanes)

    def masked_load(self, address: str, mask: Value, otherwise: Value) -> Value:
        """The elements of the lanes of a mask, other lanes as given; more than one lane."""
        kind = otherwise.kind
        name = f"@llvm.masked.load.{kind.suffix}.p0"
        self.declarations[f"declare {kind} {name}(ptr, i32 immarg, {mask.kind}, {kind})"] = None
        return self.emit(
            kind, f"call {kind} {name}(ptr {address}, i32 {alignment(kind)}, {mask}, {otherwise})"
        )

    def masked_store(self, value: Value, address: str, mask: Value) -> None:
        self.write_where(mask, Slot(address, value.kind), value)

    def shuffled(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Lanes picked out of two vectors of one kind, those of the second counted on from the first."""
        kind = Kind(a.kind.element, len(lanes))
        if kind.lanes == 1:
            return self.emit(kind, f"extractelement {a}, i64 {lanes[0]}")
        picked = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.emit(kind, f"shufflevector {a}, {b}, <{kind.lanes} x i32> <{picked}>")

    def folded(self, fold: Callable[[Value, Value], Value], value: Value) -> Value:
        """All lanes taken together: halves with halves, so that the order never changes."""
        while value.kind.lanes > 1:
            half = value.kind.lanes // 2
            low, high = range(half), range(half, 2 * half)
            value = fold(self.shuffled(value, value, low), self.shuffled(value, value, high))
        return value
