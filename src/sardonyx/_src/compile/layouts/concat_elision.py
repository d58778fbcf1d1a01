"""Concat elision: producers write directly into slices of the Concat's output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sardonyx._src.compile.partition.region import Region
from sardonyx._src.compile.partition.scope import RegionGraph
from sardonyx._src.compile.program.layout import CHANNELS_LAST
from sardonyx._src.compile.program.tensor import TensorView, row_major_strides
from sardonyx._src.compile.program.views import slice_axis
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Concat:
    """The config of a region that concatenates what it reads along an axis; its parts are copied by the layout stage."""

    axis: int


class ConcatElision:
    """The Concats of a graph along channels, and the outputs whose slices have been handed to producers.

    bound: the symbols of the sizes that are bound before the region that is being placed, updated by the caller.
    concats: for each value that is a part of one, the region of the first such Concat.  elided: the values that their
    producers write into a slice.
    """

    def __init__(self, graph: RegionGraph, bound: Collection[str]) -> None:
        self.scope, self.bound = graph.scope, bound
        self.concats: dict[Value, Region[object]] = {}
        self.outputs: dict[Value, TensorView] = {}  # [N, C, ...], channels innermost in memory
        self.elided: set[Value] = set()
        for region in reversed(graph.regions):
            if region.config == Concat(1):
                self.concats.update((read.value, region) for read in region.reads)

    def slice_of(self, value: Value) -> TensorView | None:
        """The slice [N, C, ...] of a Concat's output, channels innermost, that a value may be written into; else None."""
        region = self.concats.get(value)
        if region is None or value in self.scope.outputs or not self.can_elide(region):
            return None
        result, shape = region.writes[0].value, self.scope.known_shape(value)
        output = self.outputs.get(result) or self.allocate_output(result)
        if not self.is_bound(output):
            return None
        self.outputs[result] = output
        self.elided.add(value)
        return with_dims(slice_axis(output, 1, self.first_channel(region, value), shape[1]), shape)

    def is_elided(self, value: Value, output: Value) -> bool:
        """Whether a value is written directly into its slice of a Concat's output."""
        return value in self.elided and self.concats[value].writes[0].value is output

    def can_elide(self, region: Region[object]) -> bool:
        """Whether the inputs are images, and none occurs twice."""
        parts = [read.value for read in region.reads]
        return len(self.scope.known_shape(parts[0])) > 2 and len(set(parts)) == len(parts)

    def is_bound(self, tensor: TensorView) -> bool:
        """Whether the address and the strides of a tensor can be computed now, before the sizes that are bound later.

        Until all sizes of its buffer are bound, the buffer has no address that lasts.
        """
        sizes = (tensor.buffer.size, tensor.offset, *tensor.strides)
        return all(isinstance(size, int) or size.symbols() <= {*self.bound} for size in sizes)

    def allocate_output(self, value: Value) -> TensorView:
        """The output of a Concat: a slice of another Concat's output, or a temporary."""
        shape, dtype = self.scope.known_shape(value), self.scope.dtype(value)
        return self.slice_of(value) or CHANNELS_LAST.allocate(dtype, shape, value.name)

    def first_channel(self, region: Region[object], value: Value) -> Known:
        """The first channel of an input in the output."""
        total: Known = 0
        for read in region.reads:
            if read.value is value:
                break
            total = total + self.scope.known_shape(read.value)[1]
        return total


def with_dims(part: TensorView, shape: tuple[Known, ...]) -> TensorView:
    """A slice [N, C, ...] of a Concat's output, channels innermost, with the dims of the value that is written into it.

    They equal those of the slice, but may be other expressions, which a guard of the Concat makes equal.  Kernels compare
    the strides of a tensor with its own dims.
    """
    pixel_stride = part.strides[-1]
    batch, *pixels = (stride * pixel_stride for stride in row_major_strides((shape[0], *shape[2:])))
    return replace(part, shape=shape, strides=(batch, 1, *pixels))
