"""Where results go that a later Concat puts side by side: straight into their places in its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sardonyx._src.compile.tensor import Tensor, first_order, last_order
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node, Value

if TYPE_CHECKING:
    from sardonyx._src.compile.lowering import Lowering


class Destinations:
    """The concatenations of a graph along channels, and the results that have begun to be written."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.joins = {
            value: node
            for node in reversed(list(lowering.graph.nodes))
            if joins_channels(node)
            for value in node.inputs
            if value is not None
        }
        self.begun: dict[Node, Tensor] = {}  # [N, C, ...], channels innermost in memory

    def of(self, value: Value, *, channels_last: bool) -> Tensor | None:
        """The part of a concatenation that a value is, [N, C, ...] with channels innermost, if it is part of one."""
        node = self.joins.get(value)
        lowering = self.lowering
        if node is None or not channels_last or value in lowering.outputs or not self.fits(node):
            return None
        if node not in self.begun:
            self.begun[node] = self.begin(node)
        return part(self.begun[node], self.start(node, value), lowering.known_shape(value)[1])

    def fits(self, node: Node) -> bool:
        """Whether all parts and the whole have known sizes, and no value is there twice."""
        shapes = [self.lowering.shape(value) for value in (*node.inputs, node.outputs[0])]
        ranks = {len(shape) for shape in shapes if shape is not None}
        return (
            None not in shapes
            and len(ranks) == 1
            and min(ranks) > 2
            and len(set(node.inputs)) == len(node.inputs)
        )

    def begin(self, node: Node) -> Tensor:
        value = node.outputs[0]
        found = self.of(value, channels_last=True)
        if found is None:
            shape = self.lowering.known_shape(value)
            placed = [shape[i] for i in last_order(len(shape))]
            made = self.lowering.temporary(self.lowering.dtype(value), placed, value.name)
            found = made.permuted(first_order(len(shape)))
        return found

    def start(self, node: Node, value: Value) -> Known:
        """The first channel of a part."""
        total: Known = 0
        for one in node.inputs:
            if one is value:
                break
            assert one is not None, "a part of a concatenation is left out"
            total = total + self.lowering.known_shape(one)[1]
        return total


def part(whole: Tensor, start: Known, channels: Known) -> Tensor:
    """Some channels of a tensor [N, C, ...]."""
    shape = (whole.shape[0], channels, *whole.shape[2:])
    return replace(whole, shape=shape, offset=whole.offset + start * whole.strides[1])


def joins_channels(node: Node) -> bool:
    axis = node.attributes.get("axis")
    return node.op_type == "Concat" and not node.domain and axis is not None and axis.value == 1
