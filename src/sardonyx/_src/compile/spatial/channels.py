"""Kernels whose lanes are channels: vectors of them, masks for what is left over, tails beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.step import Arg
from sardonyx._src.compile.tail import How, Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a tail, inside of a kernel."""

    how: How
    address: str
    pitch: Value | None


class Channels(KernelText):
    """The instructions of a kernel that runs along channels; `lanes` of them at once."""

    def __init__(self, target: Target, tail: Tail) -> None:
        super().__init__(target.fused)
        self.lanes = target.lanes
        self.vector = Kind("float", target.lanes)
        self.tail = tail
        self.operands: list[Operand] = []

    @property
    def zero(self) -> Value:
        return self.constant(0, I64)

    def fetch_operands(self, index: int) -> None:
        """The operands of the tail, whose arguments begin at a place; to be called before any loop."""
        for how in self.tail.operands:
            address = self.pointer(index)
            pitch = self.size(index + 1) if how == "matrix" else None
            self.operands.append(Operand(how, address, pitch))
            index += 2 if how == "matrix" else 1

    # --- integers ----------------------------------------------------------------------------

    def greatest(self, a: Value, b: Value) -> Value:
        return self.select(a > b, a, b)

    def truncated(self, a: Value, b: Value) -> Value:
        """a / b, rounded towards 0."""
        return self.emit(I64, f"sdiv {a}, {b.name}")

    # --- vectors -----------------------------------------------------------------------------

    def along(self, first: Value, end: Value, body: Callable[[Value, Value | None], None]) -> None:
        """The body for each vector of channels from `first` up to `end`, the last one with a mask if it is short."""
        reached = self.counted(first, end, self.lanes, lambda c: body(c, None), "channel")
        if self.lanes > 1:
            self.when(reached < end, lambda: body(reached, self.mask(end - reached)))

    def mask(self, count: Value) -> Value:
        """The first `count` lanes, of which there may be none or more than all."""
        kind = Kind("i32", self.lanes)
        numbers = ", ".join(f"i32 {i}" for i in range(self.lanes))
        lane = self.constant(0, kind) if self.lanes == 1 else Value(self, kind, f"<{numbers}>")
        return lane < self.spread(count.converted("trunc", "i32"), self.lanes)

    def taken(self, address: str, mask: Value | None = None, absent: float = 0.0) -> Value:
        """The vector at an address, with `absent` in the lanes outside of the mask, which are not read."""
        if mask is None:
            return self.read(Slot(address, self.vector))
        otherwise = self.constant(absent, self.vector)
        if self.lanes == 1:
            slot = self.new_slot("taken", self.vector)
            self.write(slot, otherwise)
            self.when(mask, lambda: self.write(slot, self.read(Slot(address, self.vector))))
            return self.read(slot)
        name = f"@llvm.masked.load.{self.vector.suffix}.p0"
        self.declarations[f"declare {self.vector} {name}(ptr, i32 immarg, {mask.kind}, {self.vector})"] = None
        return self.emit(self.vector, f"call {self.vector} {name}(ptr {address}, i32 4, {mask}, {otherwise})")

    def put(self, value: Value, address: str, mask: Value | None = None) -> None:
        """Writes a vector, or its lanes inside of the mask."""
        if mask is None:
            self.write(Slot(address, self.vector), value)
        elif self.lanes == 1:
            self.when(mask, lambda: self.write(Slot(address, self.vector), value))
        else:
            name = f"@llvm.masked.store.{self.vector.suffix}.p0"
            self.declarations[f"declare void {name}({self.vector}, ptr, i32 immarg, {mask.kind})"] = None
            self.lines.append(f" call void {name}({value}, ptr {address}, i32 4, {mask})")

    def one(self, address: str) -> Value:
        """The number at an address in every lane."""
        return self.spread(self.read(Slot(address, Kind("float"))), self.lanes)

    def above(self, a: Value, b: Value) -> Value:
        """The greater of both floats; NaN if either is."""
        return self.select(a.differs(a), a, self.select(a > b, a, b))

    # --- tails -------------------------------------------------------------------------------

    def finished(self, value: Value, row: Value, channel: Value, mask: Value | None) -> Value:
        """The tail of a result that belongs to a row (a pixel) and to channels from one on."""

        def leaf(name: Local | Load) -> Value:
            assert isinstance(name, Local), f"a tail reads no {name}"
            if name.name == "x":
                return value
            operand = self.operands[int(name.name.removeprefix("o"))]
            if operand.how == "scalar":
                return self.one(operand.address)
            at = channel if operand.pitch is None else row * operand.pitch + channel
            return self.taken(self.address(operand.address, at), mask)

        return self.evaluated(self.tail.value, self.vector, leaf)


def pitch(tensor: Tensor) -> Known:
    """How far apart pixels are; their channels are dense."""
    found = tensor.pitch
    assert found is not None, f"{tensor} has no pixels of one pitch"
    return found


def operand_tensors(args: tuple[Arg, ...]) -> tuple[Tensor, ...]:
    """What a kernel reads of its arguments for a tail."""
    return tuple(arg for arg in args if isinstance(arg, Tensor))
