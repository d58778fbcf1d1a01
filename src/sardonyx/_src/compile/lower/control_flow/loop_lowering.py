"""Lowering of loop bodies: loop-carried states, slices of scan inputs, and scan outputs.

A state has a buffer of its own, which holds it before the first iteration and after the last.  An iteration computes the
next state in place if no later step reads the current one, and otherwise elsewhere, with a copy at its end.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.gather import IndexTuples, gather_step, indexed_copy_step
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace
from sardonyx._src.compile.lower.control_flow.inline_subgraph import (
    InlinedSubgraph,
    require,
    require_value,
    update_state_in_place,
)
from sardonyx._src.compile.lower.control_flow.jumps import (
    BUFFER_INDEX,
    HAS_CAPACITY,
    ITERATION,
    REMAINING,
    TripCount,
    jump_step,
    loop_step,
)
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program.program import Action, CollectScanOutputs
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Value

SLICE_BUFFER_BYTES = 1 << 18  # of a buffer of scan outputs, unless one slice is larger
MAX_BUFFERED_ITERATIONS = 1024
DEFAULT_BUFFERED_ITERATIONS = 16  # where the size of a slice is dynamic


class LoopLowering:
    """The lowering of a loop body; raises FallbackRequired for a body that cannot be inlined.

    states: the tensor of each loop-carried state, with its value after an iteration.  partially_written: tensors that
    each iteration writes a slice of.  accumulated: scan outputs of unknown length, each with the value of an iteration.
    has_dynamic_slices: whether a scan output has dynamic slice dims; zero iterations then bail out to the reference
    engine, since no iteration has determined these dims.
    """

    def __init__(self, lowering: Lowering, body: Graph) -> None:
        self.lowering, self.body, self.body_lowering = lowering, body, InlinedSubgraph(lowering, body)
        self.counter = lowering.temporary(DataType.INT64, (4,), "iterations")
        self.flag = lowering.temporary(DataType.INT64, (1,), "continue")
        self.states: list[tuple[TensorView, Value]] = []
        self.partially_written: list[TensorView] = []
        self.accumulated: dict[Value, Value] = {}
        self.has_dynamic_slices = False

    def counter_tensor(self, shape: tuple[Known, ...] = (), slot: int = ITERATION) -> TensorView:
        """A slot of the loop counter as a tensor of one element."""
        return replace(self.counter, shape=shape, strides=row_major_strides(shape), offset=slot)

    def carry_state(self, formal: Value, initial: Value, result: Value, output: Value | None) -> None:
        """Lowers a loop-carried state: `formal` in the body, `initial` before and `result` after an iteration, `output` at the end."""
        require(self.lowering.is_native(initial))
        dtype, shape = self.lowering.dtype(initial), self.lowering.known_shape(initial)
        for value in (formal, result):
            self.body_lowering.require_type(value, dtype, shape)
        initial_tensor = self.lowering.any_layout(initial)
        if resolve_identity(result) is formal:
            self.body_lowering.bind(formal, *self.lowering.tensors[initial])
        else:
            self.init_state(formal, initial_tensor, result, self.output_tensor(output, dtype, shape))
        if output is not None:
            self.lowering.bind(output, *self.body_lowering.tensors[formal])

    def init_state(self, formal: Value, initial: TensorView, result: Value, state: TensorView) -> None:
        """Binds a state to a buffer of its own, to which its initial value is copied."""
        self.lowering.emit(copy_step(initial, state))
        self.body_lowering.bind(formal, state)
        self.states.append((state, result))

    def output_tensor(self, output: Value | None, dtype: DataType, shape: tuple[Known, ...]) -> TensorView:
        """The tensor of an output of the node; a temporary if it is not used."""
        if output is None:
            return self.lowering.temporary(dtype, shape, "state")
        require(self.lowering.dtype_of(output) is dtype and self.lowering.shape(output) == shape)
        return self.lowering.allocate(output, "output" if output in self.lowering.outputs else "arena")

    def slice_input(self, formal: Value, sequence: Value, axis: int, *, backward: bool) -> None:
        """Emits the slice of a scan input that an iteration reads."""
        x = self.lowering.any_layout(sequence)
        shape = drop_axis(x.shape, axis)
        self.body_lowering.require_type(formal, x.dtype, shape)
        slice_tensor = self.body_lowering.temporary(x.dtype, shape, formal.name)
        iteration = self.counter_tensor((), REMAINING if backward else ITERATION)
        self.body_lowering.node_names = (formal.name,)
        self.body_lowering.emit(gather_step(x, iteration, slice_tensor, axis, self.lowering.status))
        self.body_lowering.bind(formal, slice_tensor)

    def write_scan_output(
        self, result: Value, output: Value, axis: int = 0, *, backward: bool = False
    ) -> Known:
        """Emits the write of a slice of a scan output by each iteration; returns the number of slices."""
        output_shape, shape = (
            require_value(self.lowering.shape(output)),
            require_value(self.body_lowering.shape(result)),
        )
        require(drop_axis(output_shape, axis) == shape)
        output_tensor = self.output_tensor(output, self.body_lowering.dtype(result), output_shape)
        element = self.body_lowering.result_tensor(result, shape)
        iteration = self.counter_tensor((), REMAINING if backward else ITERATION)
        self.body_lowering.emit(
            write_slice_step(element, iteration, output_tensor, axis, self.lowering.status)
        )
        self.partially_written.append(output_tensor)
        self.has_dynamic_slices |= not all(isinstance(dim, int) for dim in shape)
        self.lowering.bind(output, output_tensor)
        return output_shape[axis]

    def accumulate_output(self, result: Value, output: Value) -> None:
        """Registers a scan output of unknown length, which is accumulated outside the program from buffers."""
        require(not isinstance(self.lowering, InlinedSubgraph))
        require_value(self.body_lowering.shape(result))
        self.accumulated[output] = result

    def emit_buffer_writes(self) -> tuple[dict[Value, TensorView], int]:
        """Emits the writes of accumulated scan outputs to buffers; returns the buffers and their capacity in iterations."""
        slices = {
            o: self.body_lowering.result_tensor(r, self.body_lowering.known_shape(r))
            for o, r in self.accumulated.items()
        }
        capacity = min(
            (buffer_iterations(slice_tensor.nbytes) for slice_tensor in slices.values()), default=0
        )
        buffers: dict[Value, TensorView] = {}
        for output, slice_tensor in slices.items():
            buffers[output] = self.lowering.temporary(
                slice_tensor.dtype, (capacity, *slice_tensor.shape), output.name
            )
            self.body_lowering.emit(
                write_slice_step(
                    slice_tensor,
                    self.counter_tensor((), BUFFER_INDEX),
                    buffers[output],
                    0,
                    self.lowering.status,
                )
            )
        self.partially_written += buffers.values()
        return buffers, capacity

    # --- the end of an iteration -------------------------------------------------------------

    def emit_loop(
        self,
        trip_count: TripCount | None,
        limit: int,
        first_condition: TensorView | None = None,
        condition: TensorView | None = None,
    ) -> None:
        """Emits the loop; the conditions are those of the first iteration, and of another one after each iteration."""
        buffers, buffer_capacity = self.emit_buffer_writes()
        body_steps: list[Action] = [*self.update_states()]
        if buffers:
            body_steps += [
                jump_step(self.counter_tensor((1,), HAS_CAPACITY), 2),
                CollectScanOutputs(buffers, self.counter_tensor((1,)), is_last=False),
            ]
        distance, control = len(body_steps), (self.counter, self.flag, self.lowering.status, trip_count)
        require(distance > 0)
        partially_written, num_nodes = tuple(self.partially_written), len(list(self.body.nodes))
        start = loop_step(
            *control,
            first_condition,
            0,
            distance + 2,
            limit,
            partially_written,
            must_iterate=self.has_dynamic_slices,
            buffer_capacity=buffer_capacity,
        )
        self.lowering.emit(start)
        self.lowering.actions += body_steps
        self.lowering.emit(
            loop_step(*control, condition, num_nodes, -distance, limit, buffer_capacity=buffer_capacity)
        )
        if buffers:
            self.lowering.actions.append(CollectScanOutputs(buffers, self.counter_tensor((1,)), is_last=True))

    def update_states(self) -> list[Step]:
        """The steps of an iteration, at the end of which every state has its next value."""
        results = [self.separate_result(result, state) for state, result in self.states]
        steps = self.body_lowering.steps
        for i, (state, _) in enumerate(self.states):
            result = results[i]
            updated = None if self.is_state_buffer(result) else update_state_in_place(steps, result, state)
            if updated is None:
                self.body_lowering.node_names = (result.buffer.name,)
                steps.append(copy_step(result, state).with_nodes(self.body_lowering.node_names))
            else:
                steps = updated
                results = [
                    replace(r, buffer=state.buffer) if r.buffer is result.buffer else r for r in results
                ]
        return steps

    def separate_result(self, result: Value, state: TensorView) -> TensorView:
        """The next value of a state, in a buffer that is not a state's."""
        tensor = self.body_lowering.result_tensor(result, state.shape)
        if self.is_state_buffer(tensor):
            separate = self.body_lowering.temporary(tensor.dtype, tensor.shape, result.name)
            self.body_lowering.emit(copy_step(tensor, separate))
            return separate
        return tensor

    def is_state_buffer(self, tensor: TensorView) -> bool:
        """Whether a tensor lies in the buffer of a state."""
        return any(tensor.buffer is state.buffer for state, _ in self.states)


def buffer_iterations(size: Known) -> int:
    """The capacity of a buffer, in iterations, for slices of this size in bytes."""
    return (
        DEFAULT_BUFFERED_ITERATIONS
        if not isinstance(size, int)
        else min(max(SLICE_BUFFER_BYTES // max(size, 1), 1), MAX_BUFFERED_ITERATIONS)
    )


def drop_axis(shape: tuple[Known, ...], axis: int) -> tuple[Known, ...]:
    return shape[:axis] + shape[axis + 1 :]


def write_slice_step(
    element: TensorView, index: TensorView, y: TensorView, axis: int, status: TensorView
) -> Step:
    """y[before, index, after] = element[before, after]; index: one int64."""
    tuples = IndexTuples(index, (0,) * element.rank, 0, (y.shape[axis],), (y.strides[axis],))
    layout = IterationSpace(element.shape, (element.strides, drop_axis(y.strides, axis)))
    return indexed_copy_step("y", element, y, tuples, layout, status, ())
