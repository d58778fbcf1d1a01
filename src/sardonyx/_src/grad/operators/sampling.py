"""Sampling of images between pixels, as nodes: what GridSample, DeformConv and RoiAlign have in common.

A tap is a pixel that a point reads, with a weight; along an axis, each of P points of B images has T taps, in tensors
[B, T, P] of indices, which are whole numbers of a floating-point type, and of weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep


@dataclass(frozen=True, slots=True)
class AxisTaps:
    """The taps of points along an axis of `size` pixels; count: T, the number of taps of each point."""

    index: Value
    weight: Value
    size: Value
    count: int


@dataclass(slots=True)
class Sampler:
    """Nodes that sample; positions and weights have the element type `wide`, float or double."""

    step: BackwardStep
    wide: DataType

    @classmethod
    def of(cls, step: BackwardStep, *inputs: int) -> Sampler:
        """A sampler that computes in double if one of these inputs is double, else in float."""
        dtypes = {step.dtype(i) for i in inputs}
        return cls(step, DataType.DOUBLE if DataType.DOUBLE in dtypes else DataType.FLOAT)

    def number(self, value: float) -> Value:
        return self.step.constant(np.asarray(value, np.float64), self.wide)

    def widen(self, x: Value) -> Value:
        return self.step.op("Cast", x, to=self.wide)

    def size(self, x: Value, axis: int) -> Value:
        """The size of an axis, as a scalar of the wide type."""
        dim = self.step.op("Shape", x, start=axis, end=axis + 1)
        return self.widen(self.step.Squeeze(dim, self.step.integers([0])))

    def scale_of_type(self, x: Value, factor: float) -> Value:
        return self.step.Mul(x, self.number(factor))

    def clamp(self, x: Value, low: float, high: Value) -> Value:
        """x limited to the range from low to high."""
        return self.step.Min(self.step.Max(x, self.number(low)), high)

    def linear_taps(self, positions: Value, size: Value) -> AxisTaps:
        """The two pixels around each position: [B, P]."""
        step = self.step
        first = step.Floor(positions)
        share = step.Sub(positions, first)
        index = self.stack(first, step.Add(first, self.number(1)))
        return AxisTaps(index, self.stack(step.Sub(self.number(1), share), share), size, 2)

    def stack(self, *parts: Value) -> Value:
        """T tensors [B, P], one for each tap, as one tensor [B, T, P]."""
        axis = self.step.integers([1])
        return self.step.op("Concat", *(self.step.Unsqueeze(part, axis) for part in parts), axis=1)

    def pixels(self, taps: AxisTaps) -> tuple[Value, Value]:
        """The indices as integers, clamped to the axis, and the weights, set to 0 for taps outside of the axis."""
        step = self.step
        last = step.Sub(taps.size, self.number(1))
        place = step.Where(step.IsNaN(taps.index), self.number(-1), taps.index)
        inside = step.And(step.GreaterOrEqual(place, self.number(0)), step.LessOrEqual(place, last))
        index = step.op("Cast", self.clamp(place, 0, last), to=DataType.INT64)
        return index, step.Where(inside, taps.weight, self.number(0))

    def combine(self, axes: Sequence[AxisTaps]) -> tuple[Value, Value, int]:
        """The flat indices and the weights of all combinations of taps, [B, K, P], and K."""
        step = self.step
        index, weight = self.pixels(axes[0])
        count = axes[0].count
        for taps in axes[1:]:
            inner, factor = self.pixels(taps)
            count *= taps.count
            size = step.op("Cast", taps.size, to=DataType.INT64)
            index = self.outer(step.Mul(index, size), inner, "Add", count)
            weight = self.outer(weight, factor, "Mul", count)
        return index, weight, count

    def outer(self, a: Value, b: Value, op_type: str, count: int) -> Value:
        """All pairs of taps: [B, T, P] and [B, U, P] to [B, T * U, P]."""
        step = self.step
        pairs = step.op(op_type, step.Unsqueeze(a, step.integers([2])), step.Unsqueeze(b, step.integers([1])))
        ends = [step.op("Shape", pairs, start=i, end=i + 1) for i in (0, 3)]
        return step.op(
            "Reshape", pairs, step.op("Concat", ends[0], step.integers([count]), ends[1], axis=0), allowzero=1
        )

    def values(self, x: Value, axes: Sequence[AxisTaps]) -> tuple[Value, Value]:
        """The pixels of x [B, C, *spatial] that the taps read, [B, K, P, C], and their weights, [B, K, P, 1]."""
        step = self.step
        index, weight, count = self.combine(axes)
        space = step.ReduceProd(step.op("Shape", x, start=2))
        flat = step.op("Concat", step.op("Shape", x, start=0, end=2), space, axis=0)
        rows = step.op("Transpose", step.op("Reshape", x, flat, allowzero=1), perm=[0, 2, 1])
        batch, points = (step.op("Shape", index, start=i, end=i + 1) for i in (0, 2))
        flat_index = step.op(
            "Concat", batch, step.Mul(points, step.integers([count])), step.integers([1]), axis=0
        )
        places = step.op("Reshape", index, flat_index, allowzero=1)
        pixels = step.op("GatherND", rows, places, batch_dims=1)
        channels = step.op("Shape", rows, start=2, end=3)
        shape = step.op("Concat", batch, step.integers([count]), points, channels, axis=0)
        return step.op("Reshape", pixels, shape, allowzero=1), step.Unsqueeze(weight, step.integers([-1]))

    def sample(self, x: Value, axes: Sequence[AxisTaps]) -> Value:
        """The weighted sums of x [B, C, *spatial] over the taps of each point: [B, C, P]."""
        step = self.step
        pixels, weight = self.values(x, axes)
        total = step.ReduceSum(step.Mul(pixels, weight), step.integers([1]), keepdims=0)
        return step.op("Transpose", total, perm=[0, 2, 1])
