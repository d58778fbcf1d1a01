"""Images of other sizes, channels last: each pixel copied or mixed from those of the input around it.

Which ones, and with which weights, is worked out by the reference's own rules when the program is made.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import Channels, operand_tensors, pitch
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.image.resize.resample import Manner
from sardonyx._src.ops.image.resize.stretch import Stretch, nearest, triangle, weighted
from sardonyx._src.ops.image.sampling import cubic_weight

MOST = 16  # pixels that one is mixed of: those of cubic interpolation


def resized(
    x: Tensor,
    y: Tensor,
    manner: Manner,
    height: Stretch,
    width: Stretch,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """x [N, H, W, C] resized to y [N, Ho, Wo, C] by the rules of its axes.

    None where there is no kernel for it: sizes that are not known, elements from outside of the input, or too many of
    them to be mixed.
    """
    if (*x.shape[1:3], *y.shape[1:3]) != (height.size, width.size, height.out, width.out):
        return None
    down, right = taps(height, manner), taps(width, manner)
    if down is None or right is None:
        return None
    counts = (down[0].shape[1], right[0].shape[1])
    if counts[0] * counts[1] > MOST:
        return None
    mixes = manner.mode != "nearest"
    found = (down[0], right[0], down[1], right[1]) if mixes else (down[0], right[0])
    return by_taps(x, y, counts, [constant(values) for values in found], tail, operands, nodes)


def by_taps(
    x: Tensor,
    y: Tensor,
    counts: tuple[int, int],
    tables: list[Tensor],
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """x [N, H, W, C] resized to y [N, Ho, Wo, C] by tables of its axes: places, int64 [Ho, taps] and [Wo, taps], which lie
    inside the image, and, where elements are mixed, weights, float32, of the same dims."""
    tail, mixes = tail or Tail(), len(tables) == 4
    more = tail_arguments(tail, operands)

    def source(name: str, target: Target) -> str:
        return ResizeText(target, tail, counts, mixes=mixes).module(name)

    return Step(
        kernel=Kernel(f"resize_f32:{counts[0]}x{counts[1]}:{mixes}:{tail.key}", source),
        args=(x, y, pitch(x), pitch(y), *x.shape[1:3], *y.shape[1:3], x.shape[3], *tables, *more),
        units=y.shape[0] * y.shape[1],
        reads=(x, *tables, *operand_tensors(more)),
        writes=(y,),
        flops=y.count * (2 * counts[0] * counts[1] if mixes else 0),
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


def taps(axis: Stretch, manner: Manner) -> tuple[Array, Array] | None:
    """The elements of an axis that make up each one of the output, and their weights: [out, taps] each."""
    if axis.is_whole or axis.out == 0:
        return np.arange(axis.out).reshape(-1, 1), np.ones((axis.out, 1), np.float32)
    if axis.size == 0:
        return None
    at = manner.coordinates(axis)
    if manner.crops and ((at < 0) | (at > axis.size - 1)).any():
        return None
    if manner.mode == "nearest":
        return nearest(at, axis, manner.nearest_mode).reshape(-1, 1), np.ones((axis.out, 1), np.float32)
    is_cubic = manner.mode == "cubic"
    places, weights = weighted(
        at,
        axis,
        partial(cubic_weight, a=manner.cubic_coeff_a) if is_cubic else triangle,
        2 if is_cubic else 1,
        antialias=manner.antialias,
        exclude_outside=manner.exclude_outside,
    )
    return places, weights.astype(np.float32)


def constant(values: Array) -> Tensor:
    data = np.ascontiguousarray(values)
    storage = Storage("constant", data.nbytes, "table", data)
    return Tensor(DataType.of(data.dtype), data.shape, row_major(data.shape), storage)


class ResizeText(Channels):
    """The instructions of resizing; a unit is a row of the output.  counts: taps of each axis."""

    def __init__(self, target: Target, tail: Tail, counts: tuple[int, int], *, mixes: bool) -> None:
        super().__init__(target, tail)
        self.counts, self.mixes = counts, mixes
        self.x, self.y = self.pointer(0), self.pointer(1)
        (
            self.x_pitch,
            self.y_pitch,
            self.height,
            self.width,
            self.out_height,
            self.out_width,
            self.channels,
        ) = (self.size(i) for i in range(2, 9))
        tables = [self.pointer(9 + i) for i in range(4 if mixes else 2)]
        self.places, self.weights = tables[:2], tables[2:]
        self.fetch_operands(9 + len(tables))
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        image, row = self.divided(unit, self.out_height)
        lines: list[str] = []
        for place in self.looked_up_places(0, row):
            line = (image * self.height + place) * self.width
            lines.append(self.address(self.x, line * self.x_pitch))
        down = self.looked_up_weights(0, row)
        self.counted(self.zero, self.out_width, 1, lambda p: self.pixel(unit, p, lines, down), "pixel")

    def pixel(self, unit: Value, column: Value, lines: list[str], down: list[Value]) -> None:
        places = [place * self.x_pitch for place in self.looked_up_places(1, column)]
        right = self.looked_up_weights(1, column)
        sources = [self.address(line, place) for line in lines for place in places]
        weights = [self.spread(a * b, self.lanes) for a in down for b in right]
        row = unit * self.out_width + column

        def vectors(channel: Value, mask: Value | None) -> None:
            elements = [self.taken(self.address(source, channel), mask) for source in sources]
            value = self.mixed(elements, weights) if self.mixes else elements[0]
            value = self.finished(value, row, channel, mask)
            self.put(value, self.address(self.y, row * self.y_pitch + channel), mask)

        self.along(self.zero, self.channels, vectors)

    def mixed(self, elements: list[Value], weights: list[Value]) -> Value:
        total = elements[0] * weights[0]
        for element, weight in zip(elements[1:], weights[1:], strict=True):
            total = self.fma(element, weight, total)
        return total

    def looked_up_places(self, axis: int, at: Value) -> list[Value]:
        """The places, from the table of an axis, that make up an element of the output."""
        count = self.counts[axis]
        return [
            self.read(Slot(self.address(self.places[axis], at * count + tap, "i64"), I64))
            for tap in range(count)
        ]

    def looked_up_weights(self, axis: int, at: Value) -> list[Value]:
        if not self.mixes:
            return []
        count = self.counts[axis]
        return [
            self.read(Slot(self.address(self.weights[axis], at * count + tap), Kind("float")))
            for tap in range(count)
        ]
