"""Loops and memory in LLVM's text: what changes lives in stack slots, which LLVM turns into registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile.text import Code, Kind, Value

I64 = Kind("i64")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in memory, by the name of its address, for a value of some kind."""

    name: str
    kind: Kind


class Blocks(Code):
    """The instructions of a function with loops."""

    def __init__(self, fused: bool) -> None:
        super().__init__(fused)
        self.slots: list[str] = []  # what stands first in the function

    def new_slot(self, name: str, kind: Kind) -> Slot:
        made = Slot(f"%l{len(self.slots)}_{name}", kind)
        self.slots.append(f" {made.name} = alloca {kind}, align {alignment(kind)}")
        return made

    def read(self, slot: Slot) -> Value:
        return self.emit(slot.kind, f"load {slot.kind}, ptr {slot.name}, align {alignment(slot.kind)}")

    def write(self, slot: Slot, value: Value) -> None:
        self.lines.append(f" store {value}, ptr {slot.name}, align {alignment(slot.kind)}")

    def address(self, base: str, index: Value, element: str = "float") -> str:
        """The name of the address of an element, counted from a base."""
        self._count += 1
        name = f"%p{self._count}"
        self.lines.append(f" {name} = getelementptr {element}, ptr {base}, {index}")
        return name

    def pointer_at(self, address: str) -> str:
        """The name of the pointer that stands at an address."""
        self._count += 1
        name = f"%p{self._count}"
        self.lines.append(f" {name} = load ptr, ptr {address}, align 8")
        return name

    def counted(
        self, first: Value, end: Value, step: int, body: Callable[[Value], None], name: str = "i"
    ) -> Value:
        """A loop from `first` as long as another step fits; answers where it ended."""
        slot = self.new_slot(name, I64)
        self.write(slot, first)
        head, inside, done = (self.label(word) for word in ("head", "body", "done"))
        self.jump(head)
        i = self.read(slot)
        self.lines.append(f" br {i + step <= end}, label %{inside}, label %{done}")
        self._open(inside)
        body(i)
        self.write(slot, i + step)
        self.lines.append(f" br label %{head}")
        self._open(done)
        return i

    def when(self, condition: Value, body: Callable[[], None]) -> None:
        """The body where a scalar condition holds."""
        inside, done = self.label("then"), self.label("done")
        self.lines.append(f" br {condition}, label %{inside}, label %{done}")
        self._open(inside)
        body()
        self.jump(done)

    def quotient(self, a: Value, b: Value | int) -> Value:
        """a // b of integers that are not negative, b > 0."""
        return self.emit(I64, f"udiv {a}, {self.operand(b, I64).name}")

    def divided(self, a: Value, b: Value | int) -> tuple[Value, Value]:
        """a // b and what is left over, of integers that are not negative, b > 0."""
        found = self.quotient(a, b)
        return found, a - found * b

    def least(self, a: Value, b: Value | int) -> Value:
        return self.select(a < b, a, self.operand(b, a.kind))

    def one_of(self, condition: Value, then: str, otherwise: str) -> str:
        """The name of one of two addresses."""
        name = f"%{self.label('one')}"
        self.lines.append(f" {name} = select {condition}, ptr {then}, ptr {otherwise}")
        return name

    def first_lanes(self, count: Value, lanes: int) -> Value:
        """The mask of as many lanes as the integer says, all of them if it is greater."""
        count = self.select(count < lanes, count, self.constant(lanes, I64)).converted("trunc", "i32")
        numbers = ", ".join(f"i32 {i}" for i in range(lanes))
        return Value(self, Kind("i32", lanes), f"<{numbers}>") < self.spread(count, lanes)

    def read_where(self, mask: Value, slot: Slot) -> Value:
        """A vector, zero where the mask is not; those lanes are not touched in memory."""
        name = f"@llvm.masked.load.{slot.kind.suffix}.p0"
        self.declarations[f"declare {slot.kind} {name}(ptr, i32 immarg, {mask.kind}, {slot.kind})"] = None
        place = f"ptr {slot.name}, i32 {alignment(slot.kind)}"
        return self.emit(slot.kind, f"call {slot.kind} {name}({place}, {mask}, {slot.kind} zeroinitializer)")

    def write_where(self, mask: Value, slot: Slot, value: Value) -> None:
        """Writes the lanes of a vector where the mask is."""
        name = f"@llvm.masked.store.{slot.kind.suffix}.p0"
        self.declarations[f"declare void {name}({slot.kind}, ptr, i32 immarg, {mask.kind})"] = None
        self.lines.append(f" call void {name}({value}, ptr {slot.name}, i32 {alignment(slot.kind)}, {mask})")

    def label(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count}"

    def jump(self, block: str) -> None:
        self.lines.append(f" br label %{block}")
        self._open(block)

    def spread(self, value: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        if lanes == 1:
            return value
        wide = Kind(value.kind.element, lanes)
        first = self.emit(wide, f"insertelement {wide} poison, {value}, i64 0")
        return self.emit(wide, f"shufflevector {first}, {wide} poison, <{lanes} x i32> zeroinitializer")


def alignment(kind: Kind) -> int:
    """Bytes: elements are aligned, vectors of them need not be."""
    return max(kind.bits // 8, 1)
