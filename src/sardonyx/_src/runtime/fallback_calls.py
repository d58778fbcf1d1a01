"""Fallback operations on the fast path: reference kernels called directly, between native steps.

What a run with all checks verifies of a fallback operation depends on the element types and shapes of its inputs, and on
the shapes of its results.  So the fast path calls the kernels with nothing but their inputs, and gives up, for a run with
all checks to start over, where a kernel fails or a result has another shape than before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program.program import Action, BindSizes, CopyIn, FallbackOp, Program
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.steps import as_value
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import SEQUENCES, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.bound_calls import (
    KERNEL_ERRORS,
    ChangedResult,
    FallbackCall,
    FusedCall,
    PythonCall,
    Read,
    bind_action,
    ignore_numeric_errors,
    moves_elements,
)
from sardonyx._src.runtime.fallback_ops import MIN_LONG_INPUTS, FallbackRunner
from sardonyx._src.runtime.interruptible_calls import call_interruptibly

if TYPE_CHECKING:
    from sardonyx._src.runtime.execution_context import ExecutionContext
    from sardonyx._src.runtime.native_program import NativeProgram


class FallbackCalls:
    """The actions of a program that are not kernel steps, bound for the input sizes that a context is specialized for."""

    def __init__(self, context: ExecutionContext) -> None:
        native = context.native
        self.context, self.actions = context, native.program.actions
        self.constants = native.fallback.constants
        self.calls: dict[int, PythonCall] = {
            record: bind_action(action, context)
            for record, action in enumerate(self.actions)
            if not isinstance(action, Step)
        }
        fused = self.fuse_calls()
        nodes = [a.node for i, a in enumerate(self.actions) if isinstance(a, FallbackOp) and i not in fused]
        self.computes = not all(map(moves_elements, nodes))
        self.reads_callers_arrays = any(
            isinstance(read, TensorView)
            for call in self.calls.values()
            if isinstance(call, FallbackCall)
            for read in call.reads
        )
        self.feeds = [(value, context.python_shapes[value]) for value in python_inputs(native.program)]
        self.outputs = [
            (value, context.python_shapes[value]) if tensor is None else None
            for value, tensor in native.program.outputs.items()
        ]

    def fuse_calls(self) -> set[int]:
        """Replaces chains of calls by one call each; returns the records of the calls in chains."""
        ops = (find(a.node.domain, a.node.op_type) for a in self.actions if isinstance(a, FallbackOp))
        if not any(op is not None and op.ends_word_chain for op in ops):
            return set()
        from sardonyx._src.runtime.fused_calls import find_chains  # lazy: few programs have chains

        native, frame = self.context.native, self.context.calls_frame
        ranks = {
            value: len(shape) for value, shape in self.context.python_shapes.items() if shape is not None
        }
        limit = 0 if frame is None else frame.run.limits.iterations
        outputs = list(native.program.outputs)
        records: set[int] = set()
        for chain in find_chains(self.actions, native.fallback.steps, self.constants, outputs, ranks, limit):
            *earlier, last = chain.records
            self.calls.update((record, FusedCall()) for record in earlier)
            call = self.calls[last]
            assert isinstance(call, FallbackCall), "a chain must end with a fallback operation"
            read: tuple[Read, ...] = (chain.source,)
            self.calls[last] = replace(
                call, kernel=chain.kernel, reads=read, inputs=None, shares_nothing=True
            )
            records.update(chain.records)
        return records

    def bind_feeds(self, feeds: Mapping[str, object]) -> dict[Value, RuntimeValue] | None:
        """The values that kernels read besides tensors; None for feeds unlike those of earlier runs."""
        values = dict(self.constants)
        for value, shape in self.feeds:
            strings = as_strings(feeds.get(value.name), shape)
            if strings is None:
                return None
            values[value] = strings
        return values

    def run(
        self, values: dict[Value, RuntimeValue], outputs: Sequence[Array], control: RunControl, arrays: object
    ) -> list[RuntimeValue]:
        """Runs the tape on from where native code stopped; the results of the program, in order.

        outputs: the arrays that native steps write.  arrays: the feeds and outputs.  Raises ChangedResult.
        """
        context = self.context
        try:
            if self.computes:
                with np.errstate(all="ignore"):
                    self.run_actions(values, control, arrays)
            else:
                self.run_actions(values, control, arrays)
        finally:
            if context.caller_arrays:
                context.caller_arrays.clear()
            if control.is_abandoned:
                context.replace_abandoned_memory(control)
        native = iter(outputs)
        return [next(native) if each is None else take_result(values, *each) for each in self.outputs]

    def run_actions(self, values: dict[Value, RuntimeValue], control: RunControl, arrays: object) -> None:
        """Runs the tape on, and performs the actions at which it stops."""
        context, count, calls = self.context, len(self.actions), self.calls
        record = int(context.status[status.RESUME_RECORD])
        while record < count:
            action = calls.get(record)
            if action is None:
                record = context.run_tape(record, control, arrays)
                continue
            if isinstance(action, FallbackCall):
                control.check()
                self.call(action, values, control)
            else:
                action.perform(values)
            record += 1

    def call(self, call: FallbackCall, values: dict[Value, RuntimeValue], control: RunControl) -> None:
        """Calls a kernel, in a way that the caller can stop waiting for if its inputs are large."""
        inputs: Sequence[RuntimeValue]
        if call.inputs is None:
            inputs = [self.fetch(read, values) for read in call.reads]
            size = sum([x.nbytes for x in inputs if isinstance(x, np.ndarray)])
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
        if isinstance(read, TensorView):
            return self.context.view(read)
        return read


def has_direct_calls(native: NativeProgram) -> bool:
    """Whether all actions of a program that are not kernel steps can be bound as `FallbackCalls`."""
    program = native.program
    computed = {v for a in program.actions if isinstance(a, FallbackOp) for v in a.node.outputs}
    return all(is_direct(action, native.fallback) for action in program.actions) and all(
        tensor is not None or value in computed for value, tensor in program.outputs.items()
    )


def is_direct(action: Action, fallback: FallbackRunner) -> bool:
    """Whether an action is a kernel step, a copy, a binding of sizes, or a fallback operation that needs its inputs and
    attributes alone."""
    if isinstance(action, FallbackOp):
        if action.node.subgraphs:
            return False
        op, step = find(action.node.domain, action.node.op_type), fallback.steps[action.node]
        is_plain = op is not None and not op.is_random and step.schema is not None
        return is_plain and (step.kernel is not None or step.bind is not None)
    if isinstance(action, CopyIn):
        return action.tensor.buffer.role == "arena"
    return isinstance(action, Step | BindSizes)


def python_inputs(program: Program) -> list[Value]:
    """The inputs that no kernel step reads."""
    return [value for value in program.model.graph.inputs if value not in program.inputs]


def copy_if_view(result: RuntimeValue, inputs: Sequence[RuntimeValue]) -> RuntimeValue:
    """The result, copied if it may share memory with an input; raises ChangedResult for one of other kinds than arrays."""
    if not isinstance(result, np.ndarray):
        raise ChangedResult
    if result.dtype == object:
        return result  # elements are immutable, and arrays of them no views of numbers
    is_view = any(np.may_share_memory(result, x) for x in inputs if isinstance(x, np.ndarray))
    return result.copy() if is_view else result


def as_strings(value: object, shape: tuple[int, ...] | None) -> Array | None:
    """A fed array of strings as a read-only view; None if it is another object, or has another shape."""
    if type(value) is not np.ndarray or value.shape != shape:
        return None
    if value.dtype.kind == "U":
        array: Array = value.astype(object)
    elif value.dtype == object and {str}.issuperset(map(type, value.reshape(-1).tolist())):
        array = value.view()
    else:
        return None
    array.flags.writeable = False
    return array


def take_result(
    values: Mapping[Value, RuntimeValue], value: Value, shape: tuple[int, ...] | None
) -> RuntimeValue:
    """A result of the program; raises ChangedResult for one of another shape than before."""
    result = values[value]
    if type(result) is np.ndarray:
        if result.shape != shape:
            raise ChangedResult
        return result if result.flags.writeable else result.copy()
    if shape_of(result) != shape:
        raise ChangedResult
    return result


def shape_of(value: RuntimeValue) -> tuple[int, ...] | None:
    """The shape of an array, the length of a list; None for other values."""
    if isinstance(value, np.ndarray):
        return cast("tuple[int, ...]", value.shape)
    return (len(value),) if isinstance(value, SEQUENCES) else None
