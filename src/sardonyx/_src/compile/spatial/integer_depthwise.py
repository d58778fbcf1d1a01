"""Convolutions of each channel with a kernel of its own, channels last, of bytes: sums are integers of 32 bits."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.elements import ELEMENTS, memory
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Load, Local
from sardonyx._src.compile.products.bytes import Bytes
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.spatial.channels import operand_tensors
from sardonyx._src.compile.spatial.depthwise import Depthwise, packed
from sardonyx._src.compile.spatial.window import Grip, Window, arguments, grip_for, units
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Code, Element, Kind, Value
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array


def packed_bytes(weights: Array, target: Target) -> Array:
    """Weights [C, 1, kh, kw] int8 as words [kh * kw, C]: with a sign, or with zeros above 16 bits for `pmaddwd`."""
    found: Array = packed(weights).astype(np.int16)
    return found.view(np.uint16).astype(np.int32) if has_pairs(target) else found.astype(np.int32)


def has_pairs(target: Target) -> bool:
    return Bytes(Code(fused=False), target).has_pairs


def integer_depthwise(
    x: Tensor,
    zero: Tensor | None,
    weights: Tensor,
    start: Tensor,
    y: Tensor,
    window: Window,
    tail: IntegerTail,
    operands: tuple[Tensor, ...] = (),
) -> Step:
    """The convolution of bytes x [N, H, W, C] less their zero point with weights as `packed_bytes` makes them.

    zero: one byte; None for 0.  start: what the sums begin with, [C] int32.
    """
    grip = grip_for(window, y.shape[2])
    more = tail_arguments(tail, operands)
    is_signed, has_zero = x.dtype is DataType.INT8, zero is not None
    given = (weights, start) if zero is None else (weights, start, zero)

    def source(name: str, target: Target) -> str:
        code = IntegerDepthwise(target, tail, grip, is_signed=is_signed, has_zero=has_zero)
        return code.module(name)

    return Step(
        kernel=Kernel(f"depthwise_{x.dtype.text}:{grip.key}:{has_zero}:{tail.key}", source),
        args=(*arguments(x, y, window), *given, *more),
        units=units(x, y, window),
        reads=(x, *given, *operand_tensors(more)),
        writes=(y,),
        flops=y.count * (2 * window.taps),
        traffic=x.bytes + y.bytes,
    )


class IntegerDepthwise(Depthwise):
    """The instructions of a depthwise convolution of bytes."""

    def __init__(
        self, target: Target, tail: IntegerTail, grip: Grip, *, is_signed: bool, has_zero: bool
    ) -> None:
        self.typed, self.has_zero = tail, has_zero
        self.byte: Element = "i8" if is_signed else "u8"
        self.target = target
        self.elements: dict[str, str] = {}  # of addresses: what they count, if not words
        super().__init__(target, tail, grip, has_bias=True)

    def fetch(self, index: int) -> None:
        self.pairs = Bytes(self, self.target)
        self.vector = Kind("i32", self.lanes)
        self.weights, self.bias = self.pointer(index), self.pointer(index + 1)
        self.elements |= {self.x: "i8", self.y: memory(self.typed.to).written}
        zero = self.constant(0, Kind(self.byte))
        if self.has_zero:
            zero = self.read(Slot(self.pointer(index + 2), zero.kind))
        self.zero_point = (
            self.spread(zero, self.lanes) if self.has_zero else self.constant(0, self.bytes_kind)
        )
        self.fetch_operands(index + (3 if self.has_zero else 2))

    @property
    def bytes_kind(self) -> Kind:
        return Kind(self.byte, self.lanes)

    def widened(self, value: Value) -> Value:
        return value.converted("zext" if value.kind.is_unsigned else "sext", "i32")

    def address(self, base: str, index: Value, element: str = "") -> str:
        """The address of an element; addresses that it is counted from say how wide elements are."""
        known = self.elements.get(base, "")
        name = super().address(base, index, element or known or "float")
        if known and not element:
            self.elements[name] = known
        return name

    def taken(self, address: str, mask: Value | None = None, absent: float = 0.0) -> Value:
        """A vector of words, or of bytes of the image less their zero point; 0 where the mask is not."""
        if self.elements.get(address) != "i8":
            return super().taken(address, mask, absent)
        found = self.widened(self.bytes_at(Slot(address, self.bytes_kind), mask))
        return found - self.widened(self.zero_point) if self.has_zero else found

    def bytes_at(self, place: Slot, mask: Value | None) -> Value:
        if mask is None:
            return self.read(place)
        if self.lanes == 1:
            slot = self.new_slot("taken", place.kind)
            self.write(slot, self.zero_point)
            self.when(mask, lambda: self.write(slot, self.read(place)))
            return self.read(slot)
        found = self.read_where(mask, place)
        return self.select(mask, found, self.zero_point) if self.has_zero else found

    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        weight = self.of_row[tap] if isinstance(tap, int) else self.weight(tap)
        return total + (self.pairs.paired(x, weight) if self.pairs.has_pairs else x * weight)

    def start(self, channel: Value, mask: Value | None) -> Value:
        return super().taken(self.address(self.bias, channel), mask)

    # --- results -----------------------------------------------------------------------------

    def finished(self, value: Value, row: Value, channel: Value, mask: Value | None) -> Value:
        def leaf(name: Local | Load) -> Value:
            assert isinstance(name, Local), f"a tail reads no {name}"
            return value if name.name == "x" else self.typed_operand(int(name.name[1:]), row, channel, mask)

        return self.evaluated(self.tail.value, Kind(ELEMENTS[self.typed.to], self.lanes), leaf)

    def typed_operand(self, index: int, row: Value, channel: Value, mask: Value | None) -> Value:
        operand, one = self.operands[index], memory(self.typed.types[index])
        if operand.how == "scalar":
            return self.spread(self.read(Slot(operand.address, one)), self.lanes)
        at = channel if operand.pitch is None else row * operand.pitch + channel
        place = Slot(self.address(operand.address, at, one.written), Kind(one.element, self.lanes))
        if mask is None:
            return self.read(place)
        if self.lanes > 1:
            return self.read_where(mask, place)
        slot = self.new_slot("operand", place.kind)
        self.write(slot, self.constant(0, place.kind))
        self.when(mask, lambda: self.write(slot, self.read(place)))
        return self.read(slot)

    def put(self, value: Value, address: str, mask: Value | None = None) -> None:
        place = Slot(address, value.kind)
        if mask is None:
            self.write(place, value)
        elif self.lanes == 1:
            self.when(mask, lambda: self.write(place, value))
        else:
            self.write_where(mask, place, value)
