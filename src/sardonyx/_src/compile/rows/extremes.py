"""The least and the greatest element of a tensor, and of 0: in blocks, whose extremes are taken again."""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText, greater, lesser
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

BLOCK = 1 << 14  # elements of a unit
UNROLLED = 4


def extremes(x: Tensor, name: str = "extremes") -> tuple[Tensor, list[Step]]:
    """[2] float32, the least and the greatest of 0 and all elements of x, which are dense; NaN if one is."""
    blocks = dim_max(ceil_div(x.count, BLOCK), 1)
    y = pairs(blocks, name)
    steps = [one_step(x, y, blocks, BLOCK)]
    if blocks == 1:
        return y, steps
    found = pairs(1, name)
    return found, [*steps, one_step(y, found, 1, y.count)]


def pairs(count: Known, name: str) -> Tensor:
    return Tensor(DataType.FLOAT, (count * 2,), (1,), Storage("arena", count * 8, name))


def one_step(x: Tensor, y: Tensor, blocks: Known, block: Known) -> Step:
    assert x.is_dense and x.dtype is DataType.FLOAT, f"{x} is not dense floats"
    return Step(
        Kernel("extremes_f32", source),
        (x, y, x.count, block),
        units=blocks,
        reads=(x,),
        writes=(y,),
        flops=x.count * 2,
        traffic=x.bytes,
    )


def source(name: str, target: Target) -> str:
    code = Extremes(target)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    return code.module(name)


class Extremes(KernelText):
    """The instructions.  Arguments: x; pairs of extremes; how many elements there are, and in a unit."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.fused)
        self.lanes = target.lanes
        self.x, self.y = self.pointer(0), self.pointer(1)
        self.count, self.block = self.size(2), self.size(3)

    def unit(self, unit: Value) -> None:
        first = unit * self.block
        end = first + self.block
        end = self.select(end < self.count, end, self.count)
        wide, one = Kind("float", self.lanes), Kind("float")
        vectors = [self.pair(wide) for _ in range(UNROLLED)]
        reached = self.counted(first, end, self.lanes * UNROLLED, lambda i: self.take(i, vectors), "i")
        reached = self.counted(reached, end, self.lanes, lambda i: self.take(i, vectors[:1]), "j")
        single = [self.pair(one)]
        self.counted(reached, end, 1, lambda i: self.take(i, single), "k")
        for side, (how, name) in enumerate(((lesser, "fminimum"), (greater, "fmaximum"))):
            total = self.read(single[0][side])
            for slots in vectors:
                found = self.read(slots[side])
                if self.lanes > 1:
                    found = self.intrinsic(f"vector.reduce.{name}", found, kind=one)
                total = how(self, total, found)
            self.write(Slot(self.address(self.y, unit * 2 + side), one), total)

    def pair(self, kind: Kind) -> tuple[Slot, Slot]:
        found = self.new_slot("low", kind), self.new_slot("high", kind)
        for slot in found:
            self.write(slot, self.constant(0.0, kind))
        return found

    def take(self, i: Value, slots: list[tuple[Slot, Slot]]) -> None:
        """Takes in a vector for each pair of slots."""
        for k, (low, high) in enumerate(slots):
            x = self.read(Slot(self.address(self.x, i + k * low.kind.lanes), low.kind))
            self.write(low, lesser(self, self.read(low), x))
            self.write(high, greater(self, self.read(high), x))
