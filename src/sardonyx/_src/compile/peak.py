"""What a processor can do at most: kernels of nothing but multiply-adds, and of nothing but copies."""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText

CHAINS = 12  # independent sums: an addition takes several cycles
STREAMS = 4  # vectors copied one after another


def multiplying(name: str, target: Target) -> str:
    """A unit is one multiply-add in every lane of each chain; the sums go to the address that is argument 0."""
    code, kind = KernelText(target.fused), Kind("float", target.lanes)
    slots = [code.new_slot("chain", kind) for _ in range(CHAINS)]
    for slot in slots:
        code.write(slot, code.constant(1.0, kind))

    def step() -> None:
        for slot in slots:
            found = code.read(slot)
            code.write(slot, code.fma(found, found, found))

    code.counted(code.first, code.last, 1, lambda _: step())
    total = code.read(slots[0])
    for slot in slots[1:]:
        total = total + code.read(slot)
    code.write(Slot(code.pointer(0), kind), total)
    return code.module(name)


def copying(name: str, target: Target) -> str:
    """A unit is STREAMS vectors from the address that is argument 0 to the one that is argument 1."""
    code, kind = KernelText(target.fused), Kind("float", target.lanes)
    source, destination = code.pointer(0), code.pointer(1)
    width = target.lanes * STREAMS

    def vectors(base: str, at: Value) -> list[Slot]:
        return [Slot(code.address(base, at + i * target.lanes), kind) for i in range(STREAMS)]

    def body(at: Value) -> None:
        found = [code.read(slot) for slot in vectors(source, at)]
        for slot, value in zip(vectors(destination, at), found, strict=True):
            code.write(slot, value)

    code.counted(code.first * width, code.last * width, width, body)
    return code.module(name)


MULTIPLY = Kernel("peak_multiply", multiplying)
COPY = Kernel("peak_copy", copying)
