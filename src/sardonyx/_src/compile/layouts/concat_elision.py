"""Concat elision: producers write directly into slices of the Concat's output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sardonyx._src.compile.partition import Region, RegionGraph
from sardonyx._src.compile.program import CHANNELS_LAST, TensorView, row_major_strides
from sardonyx._src.compile.program.operands.views import slice_axis
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class Concat:
    """The config of a region that concatenates its reads along an axis; the layout stage copies them, and no kernel does."""

    axis: int


class ConcatElision:
    """The Concats of a graph along channels, and the outputs that producers write slices of.

    bound: the symbols of the sizes that are bound before the current region; the caller updates the set.
    concats: for each value that a Concat reads, the region of the first such Concat.
    outputs: the output tensor of each such Concat so far.
    elided: the values that their producers write directly into a slice.
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
        """The slice [N, C, ...] of a Concat's output, channels innermost, to write a value into; None if there is none."""
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

        A buffer has no lasting address until all of its sizes are bound.
        """
        sizes = (tensor.buffer.size, tensor.offset, *tensor.strides)
        return all(isinstance(size, int) or size.symbols() <= {*self.bound} for size in sizes)

    def allocate_output(self, value: Value) -> TensorView:
        """The output of a Concat: a slice of another Concat's output, or a temporary."""
        shape, dtype = self.scope.known_shape(value), self.scope.dtype(value)
        return self.slice_of(value) or CHANNELS_LAST.allocate(dtype, shape, value.name)

    def first_channel(self, region: Region[object], value: Value) -> Known:
        """The channel of a Concat's output at which an input begins."""
        total: Known = 0
        for read in region.reads:
            if read.value is value:
                break
            total = total + self.scope.known_shape(read.value)[1]
        return total


def with_dims(part: TensorView, shape: tuple[Known, ...]) -> TensorView:
    """A slice [N, C, ...] of a Concat's output, channels innermost, with the dims of the value that is written into it.

    The dims of the value equal the dims of the slice, but may be other expressions, which a guard of the Concat makes
    equal.  Strides are computed from them again, since kernels compare the strides of a tensor with its own dims.
    """
    pixel_stride = part.strides[-1]
    batch, *pixels = (stride * pixel_stride for stride in row_major_strides((shape[0], *shape[2:])))
    return replace(part, shape=shape, strides=(batch, 1, *pixels))
