"""Vectors in part and crosswise: masks at edges, transposition, sums across the lanes."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText

WITH_FREE_MASKS = 16  # lanes: such registers come with registers of masks


class Lanes(KernelText):
    """The instructions of a kernel that computes with vectors as wide as the target's registers."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.fused)
        self.lanes = target.lanes
        self.vector = Kind("float", target.lanes)

    def number(self, value: int) -> Value:
        return self.constant(value, I64)

    def remainder(self, a: Value, b: Value) -> Value:
        """a % b of integers that are not negative, b > 0."""
        return self.emit(I64, f"urem {a}, {b.name}")

    def inside(self, count: Value) -> Value:
        """The lanes whose number is below a count."""
        return count > 0 if self.lanes == 1 else self.first_lanes(count, self.lanes)

    def scalar(self, address: str) -> Value:
        """The float at an address, in every lane."""
        return self.spread(self.read(Slot(address, Kind("float"))), self.lanes)

    def taken(self, address: str, mask: Value | None = None) -> Value:
        """The vector at an address; lanes outside of the mask are not read, and 0."""
        place = Slot(address, self.vector)
        if mask is None:
            return self.read(place)
        if self.lanes > 1:
            return self.read_where(mask, place)
        slot = self.new_slot("taken", self.vector)
        self.write(slot, self.constant(0.0, self.vector))
        self.when(mask, lambda: self.write(slot, self.read(place)))
        return self.read(slot)

    def put(self, value: Value, address: str, mask: Value | None = None) -> None:
        """Writes a vector at an address; lanes outside of the mask are not touched."""
        place = Slot(address, self.vector)
        if mask is None:
            self.write(place, value)
        elif self.lanes > 1:
            self.write_where(mask, place, value)
        else:
            self.when(mask, lambda: self.write(place, value))

    def fetch(self, address: str) -> None:
        """Brings a cache line near; the address need not be one that may be read."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def along(self, count: Value, body: Callable[[Value, Value | None], None]) -> None:
        """The body for each vector of a row of `count` floats: where it begins, and its mask if it is not whole."""
        reached = self.counted(self.number(0), count, self.lanes, lambda i: body(i, None), "along")
        if self.lanes > 1:
            self.when(reached < count, lambda: body(reached, self.inside(count - reached)))

    def each(self, count: Value, body: Callable[[Value, Value | None], None]) -> None:
        """`along` in less code where masks cost nothing: every vector has one."""
        if self.lanes < WITH_FREE_MASKS:
            self.along(count, body)
            return
        end = count + (self.lanes - 1)
        self.counted(self.number(0), end, self.lanes, lambda i: body(i, self.inside(count - i)), "each")

    def shuffled(self, a: Value, b: Value, places: list[int]) -> Value:
        """Lanes of two vectors in a row, by their places."""
        numbers = ", ".join(f"i32 {place}" for place in places)
        kind = Kind(a.kind.element, len(places))
        return self.emit(kind, f"shufflevector {a}, {b}, <{len(places)} x i32> <{numbers}>")

    def crossed(self, a: Value, b: Value, distance: int) -> tuple[Value, Value]:
        """(a, b) with the odd runs of `distance` lanes of a in the place of the even ones of b."""
        every = range(self.lanes)
        low = [self.lanes + j - distance if j & distance else j for j in every]
        high = [self.lanes + j if j & distance else j + distance for j in every]
        return self.shuffled(a, b, low), self.shuffled(a, b, high)

    def transposed(self, rows: list[Value]) -> list[Value]:
        """As many vectors as there are lanes; what was lane i of row j is lane j of row i."""
        rows, distance = list(rows), 1
        while distance < self.lanes:
            for i in range(self.lanes):
                if i & distance == 0:
                    rows[i], rows[i + distance] = self.crossed(rows[i], rows[i + distance], distance)
            distance *= 2
        return rows

    def sums(self, rows: list[Value]) -> Value:
        """As many vectors as there are lanes to one, whose lane i is the sum of row i."""
        distance = 1
        while len(rows) > 1:
            pairs = [self.crossed(a, b, distance) for a, b in zip(rows[::2], rows[1::2], strict=True)]
            rows = [low + high for low, high in pairs]
            distance *= 2
        return rows[0]

    def across(self, op: str, value: Value) -> Value:
        """The lanes of a vector taken together by an operation, in every lane; halves with halves."""
        distance = self.lanes // 2
        while distance:
            other = self.shuffled(value, value, [i ^ distance for i in range(self.lanes)])
            value = self.applied(op, value, other)
            distance //= 2
        return value
