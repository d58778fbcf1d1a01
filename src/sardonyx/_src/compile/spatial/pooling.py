"""The greatest, the mean or the norm of the elements below each window, channels last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import operand_tensors
from sardonyx._src.compile.spatial.window import Grip, Window, arguments, grip_for, units
from sardonyx._src.compile.spatial.windows import Windows
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Storage, Tensor, product, row_major
from sardonyx._src.compile.text import Kind, Value

Pool = Literal["max", "mean", "mean_with_pads", "lp"]


@dataclass(frozen=True, slots=True)
class Pooling:
    """What windows are pooled by; p: of the norm.

    max: NaN if any element is, minus infinity of nothing.  mean: of the elements inside of the image; mean_with_pads
    counts the padding, but not what lies beyond it.  lp: the p-th root of the sum of |x|^p.
    """

    kind: Pool
    p: float = 2

    @property
    def key(self) -> str:
        return f"{self.kind}{self.p!r}" if self.kind == "lp" else self.kind


def pooled(
    x: Tensor,
    y: Tensor,
    pooling: Pooling,
    window: Window,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """Windows of x [N, H, W, C] pooled into y [N, Ho, Wo, C], whose dims say how many windows there are."""
    tail = tail or Tail()
    grip = grip_for(window, y.shape[2])
    more = tail_arguments(tail, operands)

    def source(name: str, target: Target) -> str:
        return CLASSES[pooling.kind](target, tail, grip, pooling).module(name)

    return Step(
        kernel=Kernel(f"pool_f32:{pooling.key}:{grip.key}:{tail.key}", source),
        args=(*arguments(x, y, window), *more),
        units=units(x, y, window),
        reads=(x, *operand_tensors(more)),
        writes=(y,),
        flops=y.count * window.taps,
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


def pooled_in_two(
    x: Tensor,
    y: Tensor,
    window: Window,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> list[Step]:
    """The greatest elements of windows as those of rows, then of columns: faster where windows are large."""
    (kh, kw), (sh, sw), (dh, dw), (top, left, bottom, right) = (
        window.kernel, window.strides, window.dilations, window.pads,
    )  # fmt: skip
    shape = (x.shape[0], x.shape[1], y.shape[2], x.shape[3])
    storage = Storage("arena", product(shape) * 4, "greatest_of_rows")
    between = Tensor(x.dtype, shape, row_major(shape), storage)
    of_rows = Window((1, kw), (1, sw), (1, dw), (0, left, 0, right))
    of_columns = Window((kh, 1), (sh, 1), (dh, 1), (top, 0, bottom, 0))
    return [
        pooled(x, between, Pooling("max"), of_rows, nodes=nodes),
        pooled(between, y, Pooling("max"), of_columns, tail, operands, nodes),
    ]


class PoolText(Windows):
    """The instructions of a pooling.

    Where the taps of a row are written out, sums are those of columns, which windows that overlap share.
    """

    def __init__(self, target: Target, tail: Tail, grip: Grip, pooling: Pooling) -> None:
        self.pooling = pooling
        super().__init__(target, tail, grip)

    def sum_count(self) -> int:
        return len(self.grip.places) if self.grip.width else self.grip.pixels

    def column(self, index: int, x: Value) -> None:
        self.write(self.sums[index], self.step(self.read(self.sums[index]), x, 0))

    def result(self, pixel: int) -> Value:
        g = self.grip
        if not g.width:
            return self.ended(self.read(self.sums[pixel]), pixel)
        columns = (g.places.index(pixel * g.stride + tap * g.dilation) for tap in range(g.width))
        return self.ended(reduce(self.join, (self.read(self.sums[i]) for i in columns)), pixel)

    def join(self, a: Value, b: Value) -> Value:
        """Two sums as one."""
        return a + b

    def ended(self, total: Value, pixel: int) -> Value:
        """What the sum of a window of the tile comes to."""
        return total


class Max(PoolText):
    absent = -math.inf

    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        return self.above(x, total)

    def join(self, a: Value, b: Value) -> Value:
        return self.above(a, b)


class Mean(PoolText):
    """Sums, each times one over the number of elements of its window."""

    def fetch(self, index: int) -> None:
        super().fetch(index)
        self.shares = [self.new_slot("share", Kind("float")) for _ in range(self.grip.pixels)]

    @property
    def counts_pads(self) -> bool:
        return self.pooling.kind == "mean_with_pads"

    def row_begins(self) -> None:
        self.rows_below = self.tap_rows[1] - self.tap_rows[0]
        if self.counts_pads:
            low, high = self.between(
                self.top, -self.pads[0], self.height + self.pads[2], self.kernel_height, self.apart_down
            )
            self.rows_below = high - low

    def tile_begins(self, left: Value) -> None:
        low, high = self.zero, self.width
        if self.counts_pads:
            low, high = -self.pads[1], self.width + self.pads[3]
        for p, slot in enumerate(self.shares):
            start = left + self.right * p
            first, behind = self.between(start, low, high, self.kernel_width, self.apart_right)
            count = self.rows_below * (behind - first)
            self.write(slot, 1 / count.converted("sitofp", "float"))

    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        return total + x

    def ended(self, total: Value, pixel: int) -> Value:
        return total * self.spread(self.read(self.shares[pixel]), self.lanes)


class Norm(PoolText):
    def step(self, total: Value, x: Value, tap: int | Value) -> Value:
        p = self.pooling.p
        if p == 2:
            return self.fma(x, x, total)
        magnitude = self.absolute(x)
        return total + (magnitude if p == 1 else self.power(magnitude, p))

    def ended(self, total: Value, pixel: int) -> Value:
        p = self.pooling.p
        if p == 1:
            return total
        return self.intrinsic("sqrt", total) if p == 2 else self.power(total, 1 / p)

    def power(self, x: Value, exponent: float) -> Value:
        return self.applied("pow", x, self.constant(exponent, self.vector))


CLASSES: dict[Pool, type[PoolText]] = {"max": Max, "mean": Mean, "mean_with_pads": Mean, "lp": Norm}
