"""Fallback operations on the fast path: reference kernels called directly, between native steps.

The checks of a fallback operation in an ordinary run depend only on the element types and shapes of its inputs, and on the
shapes of its results.  The fast path repeats the types and shapes of an earlier run, so that it calls kernels without these
checks.  Where a kernel fails or a result has another shape than before, it raises ChangedResult, and a run with all checks
starts over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp, Program
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.steps import as_value
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.api import SEQUENCES, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.fallbacks.fallback_ops import MIN_LONG_INPUTS, FallbackRunner
from sardonyx._src.runtime.fallbacks.interruptible_calls import call_interruptibly
from sardonyx._src.runtime.fast_path.bound_calls import (
    KERNEL_ERRORS,
    CallerView,
    ChangedResult,
    FallbackCall,
    FusedCall,
    PythonCall,
    Read,
    TensorCopy,
    bind_action,
    ignore_numeric_errors,
    moves_elements,
)
from sardonyx._src.runtime.fast_path.call_values import as_strings, copy_array, copy_if_view, take_result
from sardonyx._src.runtime.fast_path.recorded_run import RecordedRun
from sardonyx._src.runtime.programs.context_memory import ContextMemory
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram


class FallbackCalls:
    """The actions of a program that are not kernel steps, bound to a context that is specialized for certain input sizes.

    calls: the bound actions by record, the position of an action in the program.
    computes: whether a kernel computes numbers, so that NumPy may warn of numeric errors.
    caller_buffers: the buffers of feeds and outputs that calls read.
    feeds: the inputs that Python checks and native steps do not read: strings.
    outputs: for each output that a call computes, the value and its shape; None for an output of native steps.
    """

    def __init__(self, memory: ContextMemory, recorded: RecordedRun) -> None:
        native = memory.native
        self.memory, self.actions = memory, native.program.actions
        self.constants = native.fallback.constants
        self.calls: dict[int, PythonCall] = {
            record: bind_action(action, memory, recorded.frame)
            for record, action in enumerate(self.actions)
            if not isinstance(action, Step)
        }
        fused = self.fuse_calls(recorded)
        nodes = [a.node for i, a in enumerate(self.actions) if isinstance(a, FallbackOp) and i not in fused]
        self.computes = not all(map(moves_elements, nodes))
        self.caller_buffers = self.find_caller_buffers()
        self.feeds = python_inputs(native.program)
        self.outputs = [
            (value, recorded.shapes[value]) if tensor is None else None
            for value, tensor in native.program.outputs.items()
        ]

    def fuse_calls(self, recorded: RecordedRun) -> set[int]:
        """Replaces each chain of calls from strings to word counts by one call; returns the records of all calls in chains."""
        ops = (find(a.node.domain, a.node.op_type) for a in self.actions if isinstance(a, FallbackOp))
        if not any(op is not None and op.ends_word_chain for op in ops):
            return set()
        from sardonyx._src.runtime.fast_path.fused_calls import find_chains  # lazy: few programs have chains

        native, frame = self.memory.native, recorded.frame
        ranks = {value: len(shape) for value, shape in recorded.shapes.items() if shape is not None}
        limit = 0 if frame is None else frame.run.limits.iterations
        outputs = list(native.program.outputs)
        records: set[int] = set()
        for chain in find_chains(self.actions, native.fallback.steps, self.constants, outputs, ranks, limit):
            *earlier, last = chain.records
            self.calls.update((record, FusedCall()) for record in earlier)
            call = self.calls[last]
            assert isinstance(call, FallbackCall), "a chain must end with a fallback operation"
            read: tuple[Read, ...] = (chain.source,)
            tensor = self.next_tensor(last) if chain.is_read_once else None
            kernel = chain.kernel if tensor is None else partial(chain.kernel, out=tensor)
            self.calls[last] = replace(call, kernel=kernel, reads=read, inputs=None, shares_nothing=True)
            records.update(chain.records)
        return records

    def next_tensor(self, record: int) -> Array | None:
        """The tensor into which the next action copies the result of a call, if the kernel can write to it instead."""
        copy = self.calls.get(record + 1)
        return copy.tensor if isinstance(copy, TensorCopy) and copy.tensor.flags.c_contiguous else None

    def find_caller_buffers(self) -> list[tuple[Buffer, str | int]]:
        """The buffers of feeds and outputs that calls read, each with the name of the feed or the number of the output."""
        calls = (call for call in self.calls.values() if isinstance(call, FallbackCall))
        read = {each.buffer for call in calls for each in call.reads if isinstance(each, CallerView)}
        program = self.memory.native.program
        results = [tensor for tensor in program.outputs.values() if tensor is not None]
        keys: list[tuple[Buffer, str | int]] = [(t.buffer, v.name) for v, t in program.inputs.items()]
        keys += [(tensor.buffer, i) for i, tensor in enumerate(results)]
        return [(buffer, key) for buffer, key in keys if buffer in read]

    def bind_arrays(self, feeds: Mapping[str, object], outputs: Sequence[Array]) -> None:
        """Makes the arrays of the caller available to views; native code has their addresses already."""
        arrays = self.memory.caller_arrays
        for buffer, key in self.caller_buffers:
            arrays[buffer] = outputs[key] if isinstance(key, int) else cast(Array, feeds[key])

    def bind_feeds(self, feeds: Mapping[str, object]) -> list[Array] | None:
        """The fed strings, for native code to check; None if a feed is no array of strings or objects."""
        strings = []
        for value in self.feeds:
            array = as_strings(feeds.get(value.name))
            if array is None:
                return None
            strings.append(array)
        return strings

    def run(
        self, strings: Sequence[Array], outputs: Sequence[Array], control: RunControl, arrays: object
    ) -> list[RuntimeValue]:
        """Runs the tape from the record at which native code stopped; returns the results of the program, in order.

        strings: the result of `bind_feeds`.
        outputs: the arrays that native steps write.
        arrays: the feeds and outputs, which must live as long as a kernel uses them.
        Raises ChangedResult.
        """
        values = self.constants.copy()
        values.update(zip(self.feeds, strings, strict=True))
        if self.computes:
            with np.errstate(all="ignore"):
                self.run_actions(values, control, arrays)
        else:
            self.run_actions(values, control, arrays)
        native = iter(outputs)
        return [next(native) if each is None else take_result(values, *each) for each in self.outputs]

    def run_actions(self, values: dict[Value, RuntimeValue], control: RunControl, arrays: object) -> None:
        """Runs the rest of the tape, and performs the actions at which it stops."""
        memory, count, calls = self.memory, len(self.actions), self.calls
        record = int(memory.status[status.RESUME_RECORD])
        while record < count:
            action = calls.get(record)
            if action is None:
                record = memory.run_tape(record, control, arrays)
                continue
            if isinstance(action, FallbackCall):
                control.check()
                self.call(action, values, control)
            else:
                action.perform(values)
            record += 1

    def call(self, call: FallbackCall, values: dict[Value, RuntimeValue], control: RunControl) -> None:
        """Calls a kernel; in a helper thread if its inputs are large, so that the caller can stop waiting."""
        inputs: Sequence[RuntimeValue]
        if call.inputs is None:
            inputs = [values[r] if type(r) is Value else self.fetch(r, values) for r in call.reads]
            if call.takes_sequences and any(isinstance(x, SEQUENCES) for x in inputs):
                pairs = zip(inputs, call.reads, strict=True)
                inputs = [x if isinstance(read, Value) else copy_array(x) for x, read in pairs]
            size = 0
            for x in inputs:
                size += x.nbytes if isinstance(x, np.ndarray) else 0
        else:
            inputs, size = call.inputs, call.size or 0
        try:
            if size < MIN_LONG_INPUTS:
                result = call.kernel(*inputs)
            else:
                result = call_interruptibly(partial(ignore_numeric_errors(call.kernel), *inputs), control)
        except KERNEL_ERRORS:
            raise ChangedResult from None
        if call.write is not None and not isinstance(result, tuple):
            values[call.write] = result if call.shares_nothing else copy_if_view(as_value(result), inputs)
            return
        results = result if isinstance(result, tuple) else (result,)
        for value, item in zip(call.writes, results, strict=False):
            if value is not None:
                values[value] = item if call.shares_nothing else copy_if_view(as_value(item), inputs)

    def fetch(self, read: Read, values: Mapping[Value, RuntimeValue]) -> RuntimeValue:
        """The value of an input."""
        if isinstance(read, Value):
            return values[read]
        if isinstance(read, CallerView):
            return read.read(self.memory.caller_arrays[read.buffer])
        return read


def has_direct_calls(native: LoadedProgram) -> bool:
    """Whether all actions of a program that are not kernel steps can be bound as `FallbackCalls`."""
    program = native.program
    if draws_from_session(program) and not has_known_sizes(program):
        return False
    computed = {v for a in program.actions if isinstance(a, FallbackOp) for v in a.node.outputs}
    return all(is_direct(action, native.fallback) for action in program.actions) and all(
        tensor is not None or value in computed for value, tensor in program.outputs.items()
    )


def is_direct(action: Action, fallback: FallbackRunner) -> bool:
    """Whether an action is a kernel step, a copy, a binding of sizes, or a fallback operation that needs only its inputs
    and attributes."""
    if isinstance(action, FallbackOp):
        if action.node.subgraphs:
            return False
        op, step = find(action.node.domain, action.node.op_type), fallback.steps[action.node]
        return (
            op is not None and step.schema is not None and (step.kernel is not None or step.bind is not None)
        )
    if isinstance(action, CopyIn):
        return action.tensor.buffer.role == "arena"
    return isinstance(action, Step | BindSizes)


def draws_from_session(program: Program) -> bool:
    """Whether fallback operations draw random numbers of the session.

    A run on the fast path that starts over with all checks would draw a second time.
    """
    nodes = (action.node for action in program.actions if isinstance(action, FallbackOp))
    return any(is_random(node) and "seed" not in node.attributes for node in nodes)


def is_random(node: Node) -> bool:
    op = find(node.domain, node.op_type)
    return op is not None and op.is_random


def has_known_sizes(program: Program) -> bool:
    """Whether the sizes of inputs determine the sizes of all results of fallback operations.

    That is so for random and elementwise operators, and for results that are copied into tensors of such sizes.
    """
    copied = {action.value for action in program.actions if isinstance(action, CopyIn)}
    ops = [action for action in program.actions if isinstance(action, FallbackOp)]
    return not program.bindings and all(
        is_random(op.node) or is_elementwise(op.node) or copied.issuperset(op.node.outputs) for op in ops
    )


def is_elementwise(node: Node) -> bool:
    op = find(node.domain, node.op_type)
    return op is not None and op.elementwise


def python_inputs(program: Program) -> list[Value]:
    """The inputs that no kernel step reads."""
    return [value for value in program.model.graph.inputs if value not in program.inputs]
