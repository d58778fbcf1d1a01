"""Concat elision: producers write directly into slices of the Concat's output."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.partition.region import Region
from sardonyx._src.compile.partition.scope import RegionGraph
from sardonyx._src.compile.program.layout import CHANNELS_LAST
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.compile.program.views import slice_axis
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Concat:
    """The config of a region that concatenates what it reads along an axis; its parts are copied by the layout stage."""

    axis: int


class ConcatElision:
    """The Concats of a graph along channels, and the outputs whose slices have been handed to producers.

    concats: for each value that is a part of one, the region of the first such Concat.
    """

    def __init__(self, graph: RegionGraph) -> None:
        self.scope = graph.scope
        self.concats: dict[Value, Region[object]] = {}
        self.outputs: dict[Value, TensorView] = {}  # [N, C, ...], channels innermost in memory
        for region in reversed(graph.regions):
            if region.config == Concat(1):
                self.concats.update((read.value, region) for read in region.reads)

    def slice_of(self, value: Value) -> TensorView | None:
        """The slice [N, C, ...] of a Concat's output, channels innermost, that a value may be written into; else None."""
        region = self.concats.get(value)
        if region is None or value in self.scope.outputs or not self.can_elide(region):
            return None
        output = region.writes[0].value
        if output not in self.outputs:
            self.outputs[output] = self.allocate_output(output)
        channels = self.scope.known_shape(value)[1]
        return slice_axis(self.outputs[output], 1, self.first_channel(region, value), channels)

    def can_elide(self, region: Region[object]) -> bool:
        """Whether the inputs are images, and none occurs twice."""
        parts = [read.value for read in region.reads]
        return len(self.scope.known_shape(parts[0])) > 2 and len(set(parts)) == len(parts)

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
