"""Lowering of loops: loop-carried states, slices of scan inputs, and scan outputs.

A state has its own buffer, which holds it before the first iteration and after the last.  An iteration writes the
next state directly into that buffer if no later step reads the current state; otherwise it writes another buffer,
which is copied at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.gather import IndexTuples, gather_step, indexed_copy_step
from sardonyx._src.compile.kernels.loops.iteration_space import IterationSpace
from sardonyx._src.compile.lower import LaidOutRegion, Lowering
from sardonyx._src.compile.lower.control_flow.inlined_subgraph import lower_body
from sardonyx._src.compile.lower.control_flow.invariant_steps import split_invariant_steps
from sardonyx._src.compile.lower.control_flow.jumps import (
    BUFFER_INDEX,
    HAS_CAPACITY,
    ITERATION,
    REMAINING,
    jump_step,
    loop_step,
)
from sardonyx._src.compile.lower.control_flow.loop_region import InlinedLoop, ScanSlice, drop_axis
from sardonyx._src.compile.lower.control_flow.loop_tensors import LaidOutLoop
from sardonyx._src.compile.lower.control_flow.moving_slices import SequenceSlice, move_slices
from sardonyx._src.compile.lower.control_flow.state_updates import update_states
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.compile.program.steps.program import Action, CollectScanOutputs
from sardonyx._src.ir import Value


class LoopLowering:
    """The lowering of a loop."""

    def __init__(self, region: LaidOutRegion[InlinedLoop], lowering: Lowering) -> None:
        (body,) = region.bodies
        assert isinstance(body, LaidOutLoop), "the body of a loop must have the tensors of the loop"
        self.body, self.tensors, self.loop, self.lowering = body, body.tensors, region.config, lowering

    def lower(self) -> list[Action]:
        """The initial values of the states, and the loop."""
        states = self.tensors.states
        init = [
            copy_step(self.tensors.operand(state.initial, state.shape), tensor)
            for state, tensor in zip(self.loop.states, states, strict=True)
        ]
        early, late = self.write_slices()
        steps = [*self.read_slices(), *early, *lower_body(self.body, self.lowering), *late]
        names = [state.result.name for state in self.loop.states]
        steps = update_states(steps, self.body.next_states, states, names)
        own = {tensor.buffer for tensor in (self.tensors.counter, self.tensors.flag, *states)}
        invariant, varying = split_invariant_steps(steps, own)
        return [*init, *invariant, *self.control(self.use_slices_in_place(varying))]

    # --- scan inputs and outputs -------------------------------------------------------------

    def index_of(self, part: ScanSlice) -> TensorView:
        """The index of the slice that an iteration reads or writes."""
        if part.sequence in self.tensors.buffers:
            return self.tensors.counter_tensor(BUFFER_INDEX)
        return self.tensors.counter_tensor(REMAINING if part.backward else ITERATION)

    def read_slices(self) -> Iterator[Step]:
        """Copies of the slices of scan inputs."""
        for part in self.loop.scan_inputs:
            x, y = self.tensors.operands[part.sequence], self.tensors.slices[part.value]
            step = gather_step(x, self.index_of(part), y, part.axis, self.lowering.status)
            yield step.with_nodes((part.value.name,))

    def write_slices(self) -> tuple[list[Step], list[Step]]:
        """Steps that copy results of the body into slices of scan outputs, or into buffers of accumulated scan outputs.

        Returns the copies to execute before the body, and the copies to execute after it.  A copy of a state is
        executed before,
        so that the body may update the state in place.
        """
        early: list[Step] = []
        late: list[Step] = []
        states = {state.buffer for state in self.tensors.states}
        slices = self.body.slices
        for part in self.loop.outputs:
            output = self.tensors.buffers.get(part.sequence) or self.tensors.results[part.sequence]
            index, status = self.index_of(part), self.lowering.status
            step = write_slice_step(slices[part.value], index, output, part.axis, status)
            copies = early if slices[part.value].buffer in states else late
            copies.append(step.with_nodes((part.value.name,)))
        return early, late

    def use_slices_in_place(self, steps: Sequence[Step]) -> list[Step]:
        """The steps of an iteration, without copies of slices that they can read and write in the scan inputs and outputs."""
        inputs = [
            SequenceSlice(
                self.tensors.slices[part.value],
                self.tensors.operands[part.sequence],
                part.axis,
                self.index_of(part),
            )
            for part in self.loop.scan_inputs
        ]
        outputs = [
            SequenceSlice(
                self.body.slices[part.value],
                self.tensors.results[part.sequence],
                part.axis,
                self.index_of(part),
            )
            for part in self.loop.scan_outputs
        ]
        return move_slices(steps, inputs, outputs, {state.buffer for state in self.tensors.states})

    # --- the loop ----------------------------------------------------------------------------

    def control(self, steps: Sequence[Step]) -> list[Action]:
        """The complete loop: two loop steps around the steps of an iteration."""
        body: list[Action] = [*steps]
        iterations, condition = self.tensors.counter_tensor(ITERATION, (1,)), self.loop.condition
        if self.tensors.buffers:
            body += [
                jump_step(self.tensors.counter_tensor(HAS_CAPACITY, (1,)), 2),
                CollectScanOutputs(self.tensors.buffers, iterations, is_last=False),
            ]
        first = None if condition.first is None else self.tensors.operands[condition.first]
        if first is None and condition.is_carried:  # true: only a later condition ends the loop early
            first = self.tensors.operand(None, (1,))
        last = self.tensors.states[-1] if condition.is_carried else None
        loop = [self.loop_step(first, len(body) + 2), *body, self.loop_step(last, -len(body))]
        return [
            *loop,
            *(
                [CollectScanOutputs(self.tensors.buffers, iterations, is_last=True)]
                if self.tensors.buffers
                else ()
            ),
        ]

    def loop_step(self, condition: TensorView | None, distance: int) -> Step:
        """The step before the first iteration (distance > 0), or after each one."""
        is_start, trip_count = distance > 0, self.loop.trip_count
        outputs = (
            *(self.tensors.results[part.sequence] for part in self.loop.scan_outputs),
            *self.tensors.buffers.values(),
        )
        return loop_step(
            self.tensors.counter,
            self.tensors.flag,
            self.lowering.status,
            self.tensors.operands[trip_count] if isinstance(trip_count, Value) else trip_count,
            condition,
            len(list(self.loop.body.scope.graph.nodes)),
            distance,
            self.loop.limit,
            outputs if is_start else (),
            must_iterate=is_start and self.has_dynamic_slices,
            buffer_capacity=self.tensors.buffer_capacity,
        )

    @property
    def has_dynamic_slices(self) -> bool:
        """Whether a scan output has dynamic slice dims.

        A loop without iterations then bails out to the reference engine, since no iteration has determined
        these dims.
        """
        dims = (
            dim for part in self.loop.scan_outputs for dim in self.loop.body.scope.known_shape(part.value)
        )
        return not all(isinstance(dim, int) for dim in dims)


def write_slice_step(
    element: TensorView, index: TensorView, y: TensorView, axis: int, status: TensorView
) -> Step:
    """y[before, index, after] = element[before, after]; index: one int64."""
    tuples = IndexTuples(index, (0,) * element.rank, 0, (y.shape[axis],), (y.strides[axis],))
    layout = IterationSpace(element.shape, (element.strides, drop_axis(y.strides, axis)))
    return indexed_copy_step("y", element, y, tuples, layout, status)
