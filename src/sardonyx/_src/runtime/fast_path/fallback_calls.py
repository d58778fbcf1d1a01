"""Fallback operations on the fast path: reference kernels called directly, between native steps.

The checks of a fallback operation in an ordinary run depend only on the element types and shapes of its inputs, and on the
shapes of its results.  The fast path repeats the types and shapes of an earlier run, so that it calls kernels without these
checks.  Where a kernel fails or a result has another shape than before, it raises ChangedResult, and a run with all checks
starts over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program import Buffer, Step
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp, Program
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.fallbacks.fallback_ops import FallbackRunner, operator_of
from sardonyx._src.runtime.fast_path.call_values import as_strings, take_result
from sardonyx._src.runtime.fast_path.recorded_run import RecordedRun, python_inputs
from sardonyx._src.runtime.programs.context_memory import ContextMemory
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram

if TYPE_CHECKING:
    from sardonyx._src.runtime.fast_path.bound_calls import BoundCall


class FallbackCalls:
    """The actions of a program that are not kernel steps, bound to a context that is specialized for certain input sizes.

    calls: the bound actions by record, the position of an action in the program.
    computes: whether a kernel computes numbers, so that NumPy may warn of numeric errors.
    caller_buffers: the buffers of feeds and outputs that calls read.
    feeds: the inputs that Python checks and native steps do not read: strings.
    outputs: for each output that a call computes, the value and its shape; None for an output of native steps.
    """

    def __init__(self, memory: ContextMemory, recorded: RecordedRun) -> None:
        # Lazy: few programs have fallback operations.
        from sardonyx._src.runtime.fast_path.call_binding import CallBinder

        native = memory.native
        self.memory, self.actions = memory, native.program.actions
        self.constants = native.fallback.constants
        self.calls = CallBinder(memory, recorded).bind_all()
        self.computes = any(call.computes for call in self.bound_calls)
        self.caller_buffers = self.find_caller_buffers()
        self.feeds = python_inputs(native.program)
        self.outputs = [
            (value, recorded.shapes[value]) if tensor is None else None
            for value, tensor in native.program.outputs.items()
        ]

    @property
    def bound_calls(self) -> list[BoundCall]:
        # Lazy: few programs have fallback operations.
        from sardonyx._src.runtime.fast_path.bound_calls import BoundCall

        return [call for call in self.calls.values() if isinstance(call, BoundCall)]

    def find_caller_buffers(self) -> list[tuple[Buffer, str | int]]:
        """The buffers of feeds and outputs that calls read, each with the name of the feed or the number of the output."""
        # Lazy: few programs have fallback operations.
        from sardonyx._src.runtime.fast_path.bound_calls import CallerView

        read = {
            each.buffer for call in self.bound_calls for each in call.reads if isinstance(each, CallerView)
        }
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
            action.perform(values, control)
            record += 1


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
        op, step = operator_of(action.node), fallback.steps[action.node]
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
    op = operator_of(node)
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
    op = operator_of(node)
    return op is not None and op.elementwise
