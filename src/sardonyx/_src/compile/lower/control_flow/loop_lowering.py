"""Lowering of loops: loop-carried states, slices of scan inputs, and scan outputs.

A state has a buffer of its own, which holds it before the first iteration and after the last.  An iteration computes the
next state in place if no later step reads the current one, and otherwise elsewhere, with a copy at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.gather import IndexTuples, gather_step, indexed_copy_step
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.control_flow.inlined_subgraph import (
    lay_out_subgraph,
    lower_subgraph,
    result_tensor,
)
from sardonyx._src.compile.lower.control_flow.invariant_steps import split_invariant_steps
from sardonyx._src.compile.lower.control_flow.jumps import (
    BUFFER_INDEX,
    HAS_CAPACITY,
    ITERATION,
    REMAINING,
    jump_step,
    loop_step,
)
from sardonyx._src.compile.lower.control_flow.loop_region import (
    InlinedLoop,
    LoopState,
    ScanSlice,
    drop_axis,
)
from sardonyx._src.compile.lower.control_flow.moving_slices import SequenceSlice, move_slices
from sardonyx._src.compile.lower.control_flow.state_updates import update_states
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.partition.region import Shape
from sardonyx._src.compile.program.program import Action, CollectScanOutputs
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView, dense_bytes, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value

SLICE_BUFFER_BYTES = 1 << 18  # of a buffer of scan outputs, unless one slice is larger
MAX_BUFFERED_ITERATIONS = 1024
DEFAULT_BUFFERED_ITERATIONS = 16  # where the size of a slice is dynamic


class LoopLowering:
    """The lowering of a loop.

    operands, results: the tensors of the values of the enclosing graph that it reads and writes.  states: the tensor of each
    loop-carried state.  slices: of scan inputs, by value of the body.  buffers: of accumulated scan outputs,
    [iterations, ...].
    """

    def __init__(self, region: LaidOutRegion[InlinedLoop], lowering: Lowering) -> None:
        self.loop, self.lowering, self.scope = region.config, lowering, region.config.body.scope
        values = [read.value for read in region.region.reads]
        self.operands = dict(zip(values, region.operands, strict=True))
        self.layouts = dict(zip(values, region.layouts, strict=True))
        self.results = dict(zip((write.value for write in region.region.writes), region.results, strict=True))
        self.counter = lowering.temporary(DataType.INT64, (4,), "iterations")
        self.flag = lowering.temporary(DataType.INT64, (1,), "continue")
        self.states = [self.allocate_state(state) for state in self.loop.states]
        self.slices = {
            part.value: self.temporary(part.value, part.value.name) for part in self.loop.scan_inputs
        }
        self.buffer_capacity = min(map(self.buffered_iterations, self.loop.accumulated), default=0)
        self.buffers = {
            part.sequence: self.temporary(part.value, part.sequence.name, self.buffer_capacity)
            for part in self.loop.accumulated
        }

    def lower(self) -> list[Action]:
        """The initial values of the states, and the loop."""
        init = [
            copy_step(self.operand(state.initial, state.shape), tensor)
            for state, tensor in zip(self.loop.states, self.states, strict=True)
        ]
        body = lay_out_subgraph(self.loop.body, self.lowering, self.bound_tensors(), {})
        next_states = [result_tensor(body, state.result, state.shape) for state in self.loop.states]
        written = [part.value for part in self.outputs]
        slices = {value: result_tensor(body, value, self.scope.known_shape(value)) for value in written}
        early, late = self.write_slices(slices)
        steps = [*self.read_slices(), *early, *lower_subgraph(body, self.lowering), *late]
        names = [state.result.name for state in self.loop.states]
        steps = update_states(steps, next_states, self.states, names)
        own = {tensor.buffer for tensor in (self.counter, self.flag, *self.states)}
        invariant, varying = split_invariant_steps(steps, own)
        varying = self.use_slices_in_place(varying, slices)
        return [*init, *invariant, *self.control(varying)]

    @property
    def outputs(self) -> tuple[ScanSlice, ...]:
        """The scan outputs, with those that are accumulated."""
        return *self.loop.scan_outputs, *self.loop.accumulated

    # --- tensors -----------------------------------------------------------------------------

    def operand(self, value: Value | None, shape: Shape) -> TensorView:
        """A value of the enclosing graph, with this rank: conditions may differ by a unit dim; true for None."""
        if value is None:
            return self.lowering.constant_tensor(np.ones((), np.bool_), "true").reshape(shape)
        tensor = self.operands[value]
        return tensor if tensor.rank == len(shape) else tensor.reshape(shape)

    def allocate_state(self, state: LoopState) -> TensorView:
        """The tensor of the node's output, or a temporary."""
        if state.output is not None:
            return self.results[state.output]
        return self.lowering.temporary(self.scope.dtype(state.result), state.shape, "state")

    def temporary(self, value: Value, name: str, *leading: int) -> TensorView:
        """A tensor for a value of the body, with leading dims."""
        shape = (*leading, *self.scope.known_shape(value))
        return self.lowering.temporary(self.scope.dtype(value), shape, name)

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
        """The tensors of the values that the body reads and does not compute."""
        varying = self.slices | {
            s.formal: tensor for s, tensor in zip(self.loop.states, self.states, strict=True)
        }
        varying |= self.scalars()
        invariants = {value: self.layouts[outer] for value, outer in self.loop.invariants}
        return {**invariants, **{value: (tensor,) for value, tensor in varying.items()}}

    def scalars(self) -> dict[Value, TensorView]:
        """The iteration number and the invariant condition of the body, if it reads them."""
        loop, condition, tensors = self.loop, self.loop.condition, {}
        if loop.iteration is not None:
            shape = self.scope.known_shape(loop.iteration)
            tensors[loop.iteration] = self.counter_tensor(ITERATION, shape)
        if condition.invariant is not None:
            shape = self.scope.known_shape(condition.invariant)
            tensors[condition.invariant] = self.operand(condition.first, shape)
        return tensors

    # --- scan inputs and outputs -------------------------------------------------------------

    def index_of(self, part: ScanSlice) -> TensorView:
        """The index of the slice that an iteration reads or writes."""
        if part.sequence in self.buffers:
            return self.counter_tensor(BUFFER_INDEX)
        return self.counter_tensor(REMAINING if part.backward else ITERATION)

    def read_slices(self) -> Iterator[Step]:
        """Copies of the slices of scan inputs."""
        for part in self.loop.scan_inputs:
            x, y = self.operands[part.sequence], self.slices[part.value]
            step = gather_step(x, self.index_of(part), y, part.axis, self.lowering.status)
            yield step.with_nodes((part.value.name,))

    def write_slices(self, slices: Mapping[Value, TensorView]) -> tuple[list[Step], list[Step]]:
        """Copies of results into slices of scan outputs, or of the buffers of those that are accumulated.

        The first are those of states before the iteration, which it may then update in place.
        """
        early: list[Step] = []
        late: list[Step] = []
        states = {state.buffer for state in self.states}
        for part in self.outputs:
            output = self.buffers.get(part.sequence) or self.results[part.sequence]
            index, status = self.index_of(part), self.lowering.status
            step = write_slice_step(slices[part.value], index, output, part.axis, status)
            copies = early if slices[part.value].buffer in states else late
            copies.append(step.with_nodes((part.value.name,)))
        return early, late

    def use_slices_in_place(self, steps: Sequence[Step], results: Mapping[Value, TensorView]) -> list[Step]:
        """The steps of an iteration without copies of slices, where they can use the scan inputs and outputs themselves."""
        inputs = [
            SequenceSlice(
                self.slices[part.value], self.operands[part.sequence], part.axis, self.index_of(part)
            )
            for part in self.loop.scan_inputs
        ]
        outputs = [
            SequenceSlice(results[part.value], self.results[part.sequence], part.axis, self.index_of(part))
            for part in self.loop.scan_outputs
        ]
        return move_slices(steps, inputs, outputs, {state.buffer for state in self.states})

    # --- the loop ----------------------------------------------------------------------------

    def control(self, steps: Sequence[Step]) -> list[Action]:
        """The steps of an iteration between two loop steps."""
        body: list[Action] = [*steps]
        iterations, condition = self.counter_tensor(ITERATION, (1,)), self.loop.condition
        if self.buffers:
            body += [
                jump_step(self.counter_tensor(HAS_CAPACITY, (1,)), 2),
                CollectScanOutputs(self.buffers, iterations, is_last=False),
            ]
        first = None if condition.first is None else self.operands[condition.first]
        if first is None and condition.is_carried:  # the loop may end before its trip count
            first = self.operand(None, (1,))
        last = self.states[-1] if condition.is_carried else None
        loop = [self.loop_step(first, len(body) + 2), *body, self.loop_step(last, -len(body))]
        return [
            *loop,
            *([CollectScanOutputs(self.buffers, iterations, is_last=True)] if self.buffers else ()),
        ]

    def loop_step(self, condition: TensorView | None, distance: int) -> Step:
        """The step before the first iteration (distance > 0), or after each one."""
        is_start, trip_count = distance > 0, self.loop.trip_count
        outputs = (*(self.results[part.sequence] for part in self.loop.scan_outputs), *self.buffers.values())
        return loop_step(
            self.counter,
            self.flag,
            self.lowering.status,
            self.operands[trip_count] if isinstance(trip_count, Value) else trip_count,
            condition,
            len(list(self.scope.graph.nodes)),
            distance,
            self.loop.limit,
            outputs if is_start else (),
            must_iterate=is_start and self.has_dynamic_slices,
            buffer_capacity=self.buffer_capacity,
        )

    @property
    def has_dynamic_slices(self) -> bool:
        """Whether a scan output has dynamic slice dims.

        Zero iterations then bail out to the reference engine, since no iteration has determined these dims.
        """
        dims = (dim for part in self.loop.scan_outputs for dim in self.scope.known_shape(part.value))
        return not all(isinstance(dim, int) for dim in dims)


def write_slice_step(
    element: TensorView, index: TensorView, y: TensorView, axis: int, status: TensorView
) -> Step:
    """y[before, index, after] = element[before, after]; index: one int64."""
    tuples = IndexTuples(index, (0,) * element.rank, 0, (y.shape[axis],), (y.strides[axis],))
    layout = IterationSpace(element.shape, (element.strides, drop_axis(y.strides, axis)))
    return indexed_copy_step("y", element, y, tuples, layout, status)
