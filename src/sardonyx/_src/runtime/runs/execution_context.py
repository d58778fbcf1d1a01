"""Execution context: everything that one run of a native program needs for itself.

A context holds a copy of the program's i64 slots (the tape and its arguments), the arena of intermediate tensors, scratch
memory for each thread, and the status block.  A run specializes the context for the sizes of its inputs, unless they are
those of its last run; patches the addresses of feeds and outputs into the slots; and runs the tape.  Where the tape
stops at an action that is not a kernel step, Python performs it: a fallback op, a copy into a tensor, the collection of scan
outputs, or the binding of data-dependent sizes.  Data-dependent sizes are expected to equal those of the last run.  Where
they differ, the context is specialized again in the middle of the run, and the arena keeps its contents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.entry_layout import DONE, FAULT
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.steps.assumptions import (
    Assumption,
    BranchTaken,
    Observation,
    RankObserved,
)
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
)
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import Frame, RunState
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.run_values import RuntimeValue, as_run_value
from sardonyx._src.runtime.fallbacks.fallback_ops import check_result
from sardonyx._src.runtime.fast_path.call_values import shape_of
from sardonyx._src.runtime.fast_path.fallback_calls import FallbackCalls
from sardonyx._src.runtime.fast_path.fast_path import FastPath, build_fast_path
from sardonyx._src.runtime.fast_path.recorded_run import RecordedRun, python_inputs
from sardonyx._src.runtime.fast_path.sized_path import SizedPath
from sardonyx._src.runtime.limits.run_limits import (
    FALLBACK_SHAPE,
    INDEX_OUT_OF_RANGE,
    MEMORY_LIMIT,
    Bailout,
    raise_limit_error,
    reset_status,
)
from sardonyx._src.runtime.programs.context_memory import ContextMemory
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram
from sardonyx._src.runtime.runs.scan_outputs import ScanOutputs

MIN_VALIDATED_RUNS = 2  # runs of the same input sizes before the fast path is built


class ExecutionContext:
    """The memory and state of one run at a time of a native program.

    input_sizes: the input sizes that the context is specialized for; None before the first run.
    known_stage: the stage of the program up to which lengths were checked.
    validated_runs: runs with these sizes whose feeds and outputs matched the model's declarations.
    comparable_runs: such runs of any sizes, if it is known which lengths match them.
    max_bytes: the bytes that the last run could reserve.
    fast_path_runs: counted here, since a run in progress owns the context, so that counting needs no lock.
    """

    def __init__(self, native: LoadedProgram) -> None:
        self.native = native
        self.fast_path_runs = 0
        self.initialize()

    def initialize(self) -> None:
        """Allocates memory, not specialized for any sizes yet."""
        self.memory = ContextMemory(self.native)
        self.input_sizes: tuple[int, ...] | None = None
        self.known_stage = 0
        self.fast_path: FastPath | SizedPath | None = None
        self.validated_runs = self.comparable_runs = 0
        self.max_bytes = 0
        self.outputs: dict[Value, Array | None] = {}  # outputs of the run; None: not computed by kernels
        self.reserved_bytes = 0  # bytes that the run has reserved of its limit
        self.observed: set[Assumption] = set()  # branches and ranks observed in the run
        self.scan_outputs = ScanOutputs()
        self.recorded = RecordedRun()

    # --- a run -------------------------------------------------------------------------------

    def run(self, feeds: Mapping[str, RuntimeValue], run: RunState) -> dict[str, RuntimeValue]:
        """The outputs by name; raises Bailout, LimitError, CancelledError, or what a fallback op raises."""
        input_sizes = self.native.input_sizes(feeds)
        self.max_bytes = min(run.limits.bytes, run.memory.available)
        if input_sizes != self.input_sizes or self.memory.is_resized[0]:
            self.memory.lengths[: len(input_sizes)] = input_sizes
            self.input_sizes = (
                None  # an interrupt during specialization must not leave the old sizes as valid
            )
            self.specialize(0, run.limits.bytes)
            self.input_sizes = input_sizes
        self.reserved_bytes = 0
        self.reserve_memory(run)
        try:
            return self.run_specialized(feeds, run)
        finally:
            run.memory.release(self.reserved_bytes)

    def reserve_memory(self, run: RunState) -> None:
        """Reserves the bytes that the run requires and has not reserved yet; raises Bailout if they are not available."""
        additional = self.memory.required_bytes - self.reserved_bytes
        if additional > run.memory.available:
            raise Bailout(MEMORY_LIMIT)
        if additional > 0:
            run.memory.reserve(additional)
            self.reserved_bytes += additional

    def run_specialized(self, feeds: Mapping[str, RuntimeValue], run: RunState) -> dict[str, RuntimeValue]:
        """`run`, for the sizes that the context is specialized for."""
        native, program = self.native, self.native.program
        self.observed = set()
        frame = native.fallback.frame(run)
        for value in program.model.graph.inputs:
            self.bind_input(value, feeds.get(value.name), frame)
        self.outputs = {}
        self.allocate_outputs(0)
        reset_status(self.memory.status, run)
        try:
            self.execute(frame)
        finally:
            self.memory.caller_arrays.clear()
            self.scan_outputs.clear()
            self.replace_abandoned_memory(run.control)
        run.nodes = int(self.memory.status[status.NODES_CALLED])
        if self.memory.status[status.FAULT]:
            raise_limit_error(self.memory.status, run.limits)
            raise Bailout(INDEX_OUT_OF_RANGE)
        if native.observations:
            native.observed = frozenset(self.observed)
        outputs, self.outputs = self.outputs, {}
        if native.calls_fallback_ops:
            self.record_shapes(feeds, frame)
        return {
            v.name: frame[v] if (array := outputs[v]) is None else array for v in program.model.graph.outputs
        }

    def record_shapes(self, feeds: Mapping[str, RuntimeValue], frame: Frame) -> None:
        """Records the shapes of the inputs and outputs that kernels neither read nor write.

        Where they differ from those of the run before, the fast path is dropped.
        """
        program, run = self.native.program, frame.run
        fed = {v: shape_of(feeds[v.name]) for v in python_inputs(program) if v.name in feeds}
        outputs = {v: shape_of(frame[v]) for v, tensor in program.outputs.items() if tensor is None}
        if self.recorded.shapes != fed | outputs:
            self.fast_path, self.validated_runs = None, 0
        self.recorded = RecordedRun(fed | outputs, Frame({}, None, RunState(run.limits, run.random_source)))

    def specialize(self, stage: int, max_bytes: int) -> None:
        """Computes all slots for the lengths, and allocates arena and scratch.

        stage: the stage of the program up to which lengths are known; later lengths are expected to equal those of the last
            run.  If a guard fails with these, they are replaced by 0.
        Raises Bailout if a guard fails, if a size exceeds the largest possible one, or if the arena, the scratch of all
        threads and the outputs need more than `max_bytes` together.
        """
        native = self.native
        path = self.fast_path if isinstance(self.fast_path, SizedPath) else None
        if path is not None:
            path.forget_sizes()
        self.fast_path, self.validated_runs = path, 0
        self.known_stage = len(native.bindings)
        result = self.memory.compute_sizes(self.known_stage, max_bytes)
        if result.failure and stage < self.known_stage:
            self.known_stage = stage
            stages = native.stages.values()
            self.memory.lengths = [
                length if known_at <= stage else 0
                for length, known_at in zip(self.memory.lengths, stages, strict=True)
            ]
            result = self.memory.compute_sizes(stage, max_bytes)
        if result.failure:
            raise Bailout(result.failure)
        self.memory.occupy(result, keeps_elements=stage > 0)
        if path is not None and path.placement != self.memory.placement:
            self.fast_path = None

    def bind_sizes(self, action: BindSizes, frame: Frame) -> None:
        """Binds the data-dependent sizes of a value that Python holds; specializes the context if they are new.

        Raises Bailout for a value of another rank than inferred, and what `specialize` raises.
        """
        native = self.native
        lengths = self.bound_lengths(action, frame)
        stage = native.bindings[action]
        is_known = stage <= self.known_stage
        for axis, name in action.symbols.items():
            index, length = native.symbol_indices[name], lengths[axis]
            if self.memory.lengths[index] != length:
                if native.stages[name] < stage:
                    # Inference took two sizes as equal, and another result had this one.
                    raise Bailout(FALLBACK_SHAPE)
                self.memory.lengths[index] = length
                is_known = False
        if not is_known:
            self.input_sizes, input_sizes = None, self.input_sizes
            self.specialize(stage, frame.run.limits.bytes)
            self.input_sizes = input_sizes
            self.reserve_memory(frame.run)
            for buffer, array in self.memory.caller_arrays.items():
                self.memory.patch_pointer(buffer, array)
        self.allocate_outputs(stage)

    def bound_lengths(self, action: BindSizes, frame: Frame) -> Mapping[int, int]:
        """The lengths that an action binds, by axis; raises Bailout for a value of another rank than inferred."""
        if action.count is not None:
            return dict.fromkeys(action.symbols, int(self.memory.view(action.count)[0]))
        value = frame[action.value]
        if not isinstance(value, np.ndarray) or value.ndim != action.rank:
            raise Bailout(str(RankObserved(action.value.name, action.rank)))
        return dict(enumerate(value.shape))

    def record_validated(self, *, equations: LengthEquations | None) -> None:
        """Counts a run whose feeds and outputs matched the model's declarations; builds the fast path at the second.

        equations: what the lengths of another run must satisfy to match them; None if that is unknown.

        A run that the reference engine took over after a failed guard has recorded no frame for direct calls of kernels.
        """
        if self.native.calls_fallback_ops and self.recorded.frame is None:
            return
        if equations is not None and self.native.has_sized_path:
            self.comparable_runs += 1
            if self.comparable_runs >= MIN_VALIDATED_RUNS and self.fast_path is None:
                self.fast_path = SizedPath(self.memory, self.max_bytes, equations)
            return
        if self.native.program.counts:
            return  # shapes alone do not say that sizes are those of an earlier run
        self.validated_runs += 1
        if self.validated_runs >= MIN_VALIDATED_RUNS and self.fast_path is None:
            self.fast_path = build_fast_path(self.memory, self.recorded)

    def finish(self, control: RunControl, arrays: object) -> int:
        """Runs the tape, on the fast path, from the record at which native code stopped; returns DONE or FAULT.

        arrays: the feeds and outputs, which must live as long as a kernel uses them.
        """
        record, count = int(self.memory.status[status.RESUME_RECORD]), len(self.native.program.actions)
        try:
            while record < count:
                record = self.memory.run_tape(record, control, arrays)
        finally:
            self.replace_abandoned_memory(control)
        return FAULT if self.memory.status[status.FAULT] else DONE

    def run_calls(
        self,
        calls: FallbackCalls,
        feeds: Mapping[str, object],
        strings: Sequence[Array],
        outputs: Sequence[Array],
        control: RunControl,
    ) -> list[RuntimeValue] | None:
        """`finish` for a program with fallback operations; returns the results of the program, None after a fault.

        strings: the fed strings.  outputs: the arrays that native steps write.  Raises ChangedResult.
        """
        memory = self.memory
        if calls.caller_buffers:
            calls.bind_arrays(feeds, outputs)
        try:
            results = calls.run(strings, outputs, control, (*feeds.values(), *outputs))
        finally:
            if memory.caller_arrays:
                memory.caller_arrays.clear()
            self.replace_abandoned_memory(control)
        return None if memory.status[status.FAULT] else results

    def execute(self, frame: Frame) -> None:
        """Runs the tape and performs the actions at which it stops; it also stops regularly so that a run can be ended."""
        actions, control, record = self.native.program.actions, frame.run.control, 0
        while (record := self.memory.run_tape(record, control, (*self.memory.caller_arrays.values(),))) < len(
            actions
        ):
            if not isinstance(actions[record], Step):
                control.check()
                self.perform(actions[record], frame)
                record += 1

    def replace_abandoned_memory(self, control: RunControl) -> None:
        """Allocates new memory if the caller stopped waiting for the run: a kernel may still use the old memory."""
        if control.is_abandoned:
            self.initialize()

    def perform(self, action: Action, frame: Frame) -> None:
        """Performs an action that is not a kernel step."""
        if isinstance(action, FallbackOp):
            native_inputs = {v: self.memory.view(tensor) for v, tensor in action.native_inputs.items()}
            frame.run.nodes = int(self.memory.status[status.NODES_CALLED])
            if (observation := self.native.observations.get(action.node)) is not None:
                self.observe_condition(observation, native_inputs, frame)
            self.native.fallback.call(action.node, native_inputs, frame)
            if observation is not None:
                self.observe_ranks(observation, frame)
            self.memory.status[status.NODES_CALLED] = frame.run.nodes
        elif isinstance(action, BindSizes):
            self.bind_sizes(action, frame)
        elif isinstance(action, CollectScanOutputs):
            slices = {value: self.memory.view(tensor) for value, tensor in action.buffers.items()}
            iterations = int(self.memory.view(action.iterations)[0])
            self.scan_outputs.collect(slices, iterations, frame, is_last=action.is_last)
        else:
            assert isinstance(action, CopyIn), f"the tape stopped at {action!r}"
            self.copy_in(action, frame)

    def observe_condition(
        self, observation: Observation, native_inputs: Mapping[Value, Array], frame: Frame
    ) -> None:
        """Records the branch that a node is about to take."""
        condition = observation.condition
        if condition is not None:
            value = native_inputs[condition] if condition in native_inputs else frame[condition]
            is_then = bool(np.all(np.asarray(value)))
            self.observed.add(BranchTaken(observation.outputs[0].name, is_then))

    def observe_ranks(self, observation: Observation, frame: Frame) -> None:
        """Records the ranks of a node's results."""
        if observation.condition is None:
            arrays = {value.name: frame[value] for value in observation.outputs}
            self.observed |= {
                RankObserved(name, array.ndim)
                for name, array in arrays.items()
                if isinstance(array, np.ndarray)
            }

    def copy_in(self, action: CopyIn, frame: Frame) -> None:
        """Copies the result of a fallback op into the tensor that kernels read."""
        value, shape = action.value, self.memory.shape(action.tensor)
        if is_empty_of_other_shape(frame[value], shape):
            # The result of a loop without iterations has dims that inference cannot know.
            raise Bailout(FALLBACK_SHAPE)
        array = check_result(frame[value], shape, action.tensor.dtype.numpy, value.producer)
        self.memory.view(action.tensor, writeable=True)[...] = array

    # --- arrays of the caller ----------------------------------------------------------------

    def bind_input(self, value: Value, fed: RuntimeValue, frame: Frame) -> None:
        """Makes a feed available to kernels, or to fallback ops if no kernel reads it."""
        tensor = self.native.program.inputs.get(value)
        if tensor is not None and isinstance(fed, np.ndarray):
            # Tested first because `np.require` is slower.
            is_usable = fed.flags.c_contiguous and fed.flags.aligned
            array = fed if is_usable else np.require(fed, requirements=("C", "ALIGNED"))
            self.memory.patch_pointer(tensor.buffer, array)
        else:
            frame.values[value] = as_run_value(fed)

    def allocate_outputs(self, stage: int) -> None:
        """Allocates the outputs whose sizes this stage determines."""
        for value, tensor in self.native.program.outputs.items():
            if self.native.output_stages[value] == stage:
                self.outputs[value] = self.memory.allocate_output(value, tensor)


def is_empty_of_other_shape(value: RuntimeValue, shape: tuple[int, ...]) -> bool:
    """Whether a value is an array without elements whose shape is another than `shape`."""
    return isinstance(value, np.ndarray) and value.size == 0 and value.shape != shape
