"""The mean or the greatest of all pixels of an image, for each channel, channels last."""

from __future__ import annotations

import math
from typing import Literal

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import operand_tensors, pitch
from sardonyx._src.compile.spatial.pixels import Pixels, block_of
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import ceil_div

GlobalPool = Literal["mean", "max"]


def globally_pooled(
    x: Tensor,
    y: Tensor,
    kind: GlobalPool,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """All pixels of x [N, H, W, C] pooled into y [N, C] or [N, 1, 1, C].

    The mean of no pixels is NaN, the greatest of none is minus infinity; NaN if any pixel is.
    """
    tail = tail or Tail()
    more = tail_arguments(tail, operands)
    n, height, width, channels = x.shape
    block = block_of(height * width)
    blocks = ceil_div(channels, block)
    assert blocks is not None, "dims of tensors are known"

    def source(name: str, target: Target) -> str:
        return GlobalText(target, tail, kind).module(name)

    return Step(
        kernel=Kernel(f"pool_all_f32:{kind}:{tail.key}", source),
        args=(x, y, pitch(x), pitch(y), height * width, channels, block, blocks, *more),
        units=n * blocks,
        reads=(x, *operand_tensors(more)),
        writes=(y,),
        flops=x.count,
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


class GlobalText(Pixels):
    """The instructions of a pooling of all pixels; a unit is a block of channels of an image."""

    def __init__(self, target: Target, tail: Tail, kind: GlobalPool) -> None:
        super().__init__(target, tail)
        self.kind = kind
        self.x, self.y = self.pointer(0), self.pointer(1)
        self.x_pitch, self.y_pitch, self.pixels, self.channels, self.block, self.blocks = (
            self.size(i) for i in range(2, 8)
        )
        self.fetch_operands(8)
        self.share = self.spread(1 / self.pixels.converted("sitofp", "float"), self.lanes)
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        self.image, block = self.divided(unit, self.blocks)
        begin = block * self.block
        self.along(begin, self.least(begin + self.block, self.channels), self.vectors)

    def vectors(self, channel: Value, mask: Value | None) -> None:
        base = self.address(self.x, self.image * self.pixels * self.x_pitch + channel)
        value = self.finished(self.pooled(base, mask), self.image, channel, mask)
        self.put(value, self.address(self.y, self.image * self.y_pitch + channel), mask)

    def pooled(self, base: str, mask: Value | None) -> Value:
        if self.kind == "mean":
            return self.summed(base, self.pixels, self.x_pitch, mask) * self.share
        return self.folded(base, self.pixels, self.x_pitch, mask, self.above, self.above, -math.inf)
