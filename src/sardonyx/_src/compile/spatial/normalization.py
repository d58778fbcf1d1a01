"""Images brought to mean 0 and variance 1, channels last: each channel alone, or groups of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import operand_tensors, pitch
from sardonyx._src.compile.spatial.pixels import Pixels, block_of
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import Known, ceil_div

Part: TypeAlias = "Callable[[Value, Value | None], Value]"


def normalized(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    y: Tensor,
    epsilon: float,
    groups: int | None = None,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, of x [N, H, W, C] into y of these dims.

    scale, bias: [C].  Mean and variance are those of each channel of each image, or of `groups` groups of channels.
    """
    tail = tail or Tail()
    more = tail_arguments(tail, operands)
    n, height, width, channels = x.shape
    block = block_of(height * width) if groups is None else group_size(channels, groups)
    blocks = ceil_div(channels, block) if groups is None else groups
    assert blocks is not None, "dims of tensors are known"

    def source(name: str, target: Target) -> str:
        made = InstanceText if groups is None else GroupText
        return made(target, tail, epsilon).module(name)

    kind = "instance" if groups is None else "group"
    return Step(
        kernel=Kernel(f"normalize_f32:{kind}:{epsilon!r}:{tail.key}", source),
        args=(x, y, scale, bias, pitch(x), pitch(y), height * width, channels, block, blocks, *more),
        units=n * blocks,
        reads=(x, scale, bias, *operand_tensors(more)),
        writes=(y,),
        flops=x.count * 7,
        traffic=x.bytes * 3 + y.bytes,
        nodes=nodes,
    )


def group_size(channels: Known, groups: int) -> Known:
    assert not isinstance(channels, int) or channels % groups == 0, f"{channels} channels in {groups} groups"
    return channels // groups


class InstanceText(Pixels):
    """The instructions where each channel is alone; a unit is a block of channels of an image.

    The variance is that of the deviations from the mean, in a second pass: squares alone would cancel out.
    """

    def __init__(self, target: Target, tail: Tail, epsilon: float) -> None:
        super().__init__(target, tail)
        self.epsilon = epsilon
        self.x, self.y, self.scale, self.bias = (self.pointer(i) for i in range(4))
        self.x_pitch, self.y_pitch, self.pixels, self.channels, self.block, self.blocks = (
            self.size(i) for i in range(4, 10)
        )
        self.fetch_operands(10)
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        self.image, block = self.divided(unit, self.blocks)
        self.row = self.image * self.pixels
        begin = block * self.block
        self.channels_from(begin, self.least(begin + self.block, self.channels))

    def channels_from(self, begin: Value, end: Value) -> None:
        def vectors(channel: Value, mask: Value | None) -> None:
            mean = self.sums(channel, mask) / self.count(self.pixels)
            variance = self.squares(channel, mask, mean) / self.count(self.pixels)
            self.write_out(channel, mask, mean, self.inverse(variance))

        self.along(begin, end, vectors)

    def count(self, elements: Value) -> Value:
        return self.spread(elements.converted("sitofp", "float"), self.lanes)

    def inverse(self, variance: Value) -> Value:
        return 1 / self.intrinsic("sqrt", variance + self.epsilon)

    def place(self, channel: Value) -> str:
        return self.address(self.x, self.row * self.x_pitch + channel)

    def sums(self, channel: Value, mask: Value | None) -> Value:
        return self.summed(self.place(channel), self.pixels, self.x_pitch, mask)

    def squares(self, channel: Value, mask: Value | None, mean: Value) -> Value:
        """The sums of the squares of the deviations from the mean; 0 outside of the mask."""

        def take(total: Value, x: Value) -> Value:
            return self.fma(x - mean, x - mean, total)

        found = self.folded(self.place(channel), self.pixels, self.x_pitch, mask, take, lambda a, b: a + b)
        return found if mask is None else self.select(mask, found, self.constant(0.0, self.vector))

    def write_out(self, channel: Value, mask: Value | None, mean: Value, inverse: Value) -> None:
        factor = inverse * self.taken(self.address(self.scale, channel), mask)
        shift = self.taken(self.address(self.bias, channel), mask)

        def pixel(at: Value) -> None:
            row = self.row + at
            x = self.taken(self.address(self.x, row * self.x_pitch + channel), mask)
            value = self.finished(self.fma(x - mean, factor, shift), row, channel, mask)
            self.put(value, self.address(self.y, row * self.y_pitch + channel), mask)

        self.counted(self.zero, self.pixels, 1, pixel, "pixel")


class GroupText(InstanceText):
    """The instructions where groups of channels share a mean; a unit is a group of an image."""

    def channels_from(self, begin: Value, end: Value) -> None:
        slot = self.new_slot("sum", self.vector)
        count = self.count(self.pixels * self.block)
        mean = self.over(slot, begin, end, self.sums) / count
        variance = self.over(slot, begin, end, lambda c, mask: self.squares(c, mask, mean)) / count
        inverse = self.inverse(variance)
        self.along(begin, end, lambda c, mask: self.write_out(c, mask, mean, inverse))

    def over(self, slot: Slot, begin: Value, end: Value, part: Part) -> Value:
        """The sum of what vectors of channels give, in every lane."""
        self.write(slot, self.constant(0.0, self.vector))
        self.along(begin, end, lambda c, mask: self.write(slot, self.read(slot) + part(c, mask)))
        return self.lane_sum(self.read(slot))
