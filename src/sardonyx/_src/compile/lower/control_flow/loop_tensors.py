"""Layouts of loops: the tensors that carry states, slices and the iteration number, and the body that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.lower.control_flow.inlined_subgraph import lay_out_body
from sardonyx._src.compile.lower.control_flow.jumps import COUNTER_SLOTS, ITERATION
from sardonyx._src.compile.lower.control_flow.loop_region import InlinedLoop, LoopState, ScanSlice
from sardonyx._src.compile.partition import Shape
from sardonyx._src.compile.program import TensorView, row_major_strides
from sardonyx._src.compile.program.operands.tensor import dense_bytes, dense_temporary
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value

SLICE_BUFFER_BYTES = 1 << 18  # the size of a buffer of scan outputs, unless one slice is larger
MAX_BUFFERED_ITERATIONS = 1024
DEFAULT_BUFFERED_ITERATIONS = 16  # for slices of dynamic sizes


class LoopTensors:
    """The tensors of a loop.

    operands: the tensors of the values of the enclosing graph that the loop reads.
    results: the tensors of the values of the enclosing graph that the loop writes: last states and scan outputs.
    layouts: for each operand, all tensors that hold its value.
    counter: the loop counter (`jumps.ITERATION`).
    flag: the flag of the loop steps' jumps.
    states: the tensor of each loop-carried state.
    slices: the current slice of each scan input, by value of the body.
    buffers: the buffer of each accumulated scan output (`InlinedLoop.accumulated`), by that output: [iterations, ...].
    buffer_capacity: the number of iterations for which these buffers have room; 0 without buffers.
    """

    def __init__(self, region: LaidOutRegion[InlinedLoop], constants: ConstantPool) -> None:
        self.loop, self.constants, self.scope = region.config, constants, region.config.body.scope
        values = [read.value for read in region.region.reads]
        self.operands = dict(zip(values, region.operands, strict=True))
        self.layouts = dict(zip(values, region.layouts, strict=True))
        self.results = dict(zip((write.value for write in region.region.writes), region.results, strict=True))
        self.counter = dense_temporary(DataType.INT64, (COUNTER_SLOTS,), "iterations")
        self.flag = dense_temporary(DataType.INT64, (1,), "continue")
        self.states = [self.allocate_state(state) for state in self.loop.states]
        self.slices = {
            part.value: self.temporary(part.value, part.value.name) for part in self.loop.scan_inputs
        }
        self.buffer_capacity = min(map(self.buffered_iterations, self.loop.accumulated), default=0)
        self.buffers = {
            part.sequence: self.temporary(part.value, part.sequence.name, self.buffer_capacity)
            for part in self.loop.accumulated
        }

    def operand(self, value: Value | None, shape: Shape) -> TensorView:
        """A value of the enclosing graph with these dims; a constant true for None.

        Conditions of the node and of the body may differ by a unit dim.
        """
        if value is None:
            return self.constants.tensor(np.ones((), np.bool_), "true").reshape(shape)
        tensor = self.operands[value]
        return tensor if tensor.rank == len(shape) else tensor.reshape(shape)

    def allocate_state(self, state: LoopState) -> TensorView:
        """The tensor of the node's output, or a temporary."""
        if state.output is not None:
            return self.results[state.output]
        return dense_temporary(self.scope.dtype(state.result), state.shape, "state")

    def temporary(self, value: Value, name: str, *leading: int) -> TensorView:
        """A tensor for a value of the body, with leading dims."""
        return dense_temporary(self.scope.dtype(value), (*leading, *self.scope.known_shape(value)), name)

    def buffered_iterations(self, part: ScanSlice) -> int:
        """The capacity of the buffer of a scan output, in iterations."""
        size = dense_bytes(self.scope.dtype(part.value), self.scope.known_shape(part.value))
        if not isinstance(size, int):
            return DEFAULT_BUFFERED_ITERATIONS
        return min(max(SLICE_BUFFER_BYTES // max(size, 1), 1), MAX_BUFFERED_ITERATIONS)

    def counter_tensor(self, slot: int, shape: Shape = ()) -> TensorView:
        """A slot of the loop counter as a tensor of one element."""
        return replace(self.counter, shape=shape, strides=row_major_strides(shape), offset=slot)

    def bound_tensors(self) -> dict[Value, Sequence[TensorView]]:
        """The tensors of the values that the body reads, but does not compute."""
        varying = self.slices | {
            s.formal: tensor for s, tensor in zip(self.loop.states, self.states, strict=True)
        }
        varying |= self.scalars()
        invariants = {value: self.layouts[outer] for value, outer in self.loop.invariants}
        return {**invariants, **{value: (tensor,) for value, tensor in varying.items()}}

    def scalars(self) -> dict[Value, TensorView]:
        """The iteration number and the invariant condition of the body, if it reads them.

        An invariant condition is that of the first iteration, which the node reads.
        """
        loop, condition, tensors = self.loop, self.loop.condition, {}
        if loop.iteration is not None:
            shape = self.scope.known_shape(loop.iteration)
            tensors[loop.iteration] = self.counter_tensor(ITERATION, shape)
        if condition.invariant is not None:
            shape = self.scope.known_shape(condition.invariant)
            tensors[condition.invariant] = self.operand(condition.first, shape)
        return tensors


@dataclass(frozen=True, slots=True)
class LaidOutLoop(LaidOutBody):
    """The laid-out body of a loop; its results are the next states, then the slices of scan outputs."""

    tensors: LoopTensors

    @property
    def next_states(self) -> Sequence[TensorView]:
        return self.results[: len(self.tensors.states)]

    @property
    def slices(self) -> Mapping[Value, TensorView]:
        """The slices that an iteration writes, by value of the body."""
        parts = self.tensors.loop.outputs
        slices = self.results[len(self.tensors.states) :]
        return {part.value: tensor for part, tensor in zip(parts, slices, strict=True)}


def lay_out_loop(region: LaidOutRegion[InlinedLoop], constants: ConstantPool) -> LaidOutLoop:
    """The body of a loop with layouts, and the tensors that it shares with the loop."""
    tensors, loop = LoopTensors(region, constants), region.config
    states = [(state.result, state.shape) for state in loop.states]
    slices = [(part.value, loop.body.scope.known_shape(part.value)) for part in loop.outputs]
    body = lay_out_body("body", loop.body, constants, tensors.bound_tensors(), [*states, *slices])
    return LaidOutLoop(body.name, body.graph, body.items, body.bound, body.results, body.guards, tensors)
