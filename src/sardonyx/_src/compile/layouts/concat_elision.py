"""Concat elision: producers write directly into slices of the Concat's output."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.prepare.graph_info import GraphInfo
from sardonyx._src.compile.program.tensor import (
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
    dense_temporary,
)
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node, Value


class ConcatElision:
    """The Concat nodes of a graph along channels, and the outputs whose slices have been handed to producers."""

    def __init__(self, info: GraphInfo) -> None:
        self.info = info
        self.concats = {
            value: node
            for node in reversed(list(info.graph.nodes))
            if concatenates_channels(node)
            for value in node.inputs
            if value is not None
        }
        self.outputs: dict[Node, TensorView] = {}  # [N, C, ...], channels innermost in memory

    def slice_of(self, value: Value, *, channels_last: bool) -> TensorView | None:
        """The slice [N, C, ...] of a Concat's output, channels innermost, that a value may be written into; else None."""
        node, info = self.concats.get(value), self.info
        if node is None or not channels_last or value in info.outputs or not self.can_elide(node):
            return None
        if node not in self.outputs:
            self.outputs[node] = self.allocate_output(node)
        return channel_slice(self.outputs[node], self.first_channel(node, value), info.known_shape(value)[1])

    def can_elide(self, node: Node) -> bool:
        """Whether all inputs and the output have known dims, and no input occurs twice."""
        shapes = [self.info.shape(value) for value in (*node.inputs, node.outputs[0])]
        ranks = {len(shape) for shape in shapes if shape is not None}
        is_known = None not in shapes and len(ranks) == 1 and min(ranks) > 2
        return is_known and len(set(node.inputs)) == len(node.inputs)

    def allocate_output(self, node: Node) -> TensorView:
        """The output of a Concat: a slice of another Concat's output, or a temporary."""
        value = node.outputs[0]
        output = self.slice_of(value, channels_last=True)
        if output is None:
            shape = self.info.known_shape(value)
            channels_last = [shape[i] for i in channels_last_permutation(len(shape))]
            temporary = dense_temporary(self.info.dtype(value), channels_last, value.name)
            output = temporary.permute(channels_first_permutation(len(shape)))
        return output

    def first_channel(self, node: Node, value: Value) -> Known:
        """The first channel of an input in the output."""
        total: Known = 0
        for operand in node.inputs:
            if operand is value:
                break
            assert operand is not None, "an input of a Concat is left out"
            total = total + self.info.known_shape(operand)[1]
        return total


def channel_slice(whole: TensorView, start: Known, channels: Known) -> TensorView:
    """Some channels of a tensor [N, C, ...]."""
    shape = (whole.shape[0], channels, *whole.shape[2:])
    return replace(whole, shape=shape, offset=whole.offset + start * whole.strides[1])


def concatenates_channels(node: Node) -> bool:
    axis = node.attributes.get("axis")
    return node.op_type == "Concat" and not node.domain and axis is not None and axis.value == 1
