"""Fallback operations on the fast path: reference kernels called directly, between native steps.

What a run with all checks verifies of a fallback operation depends on the element types and shapes of its inputs, and on
the shapes of its results.  So the fast path calls the kernels with nothing but their inputs, and gives up, for a run with
all checks to start over, where a kernel fails or a result has another shape than before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program.program import Action, BindSizes, CopyIn, FallbackOp, Program
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import Located
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.steps import INTERNAL_ERRORS, NodeStep, as_value
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import OPERAND_ERRORS, SEQUENCES, Eval, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.fallback_ops import MIN_LONG_INPUTS, FallbackRunner, returns_copies
from sardonyx._src.runtime.interruptible_calls import call_interruptibly

if TYPE_CHECKING:
    from sardonyx._src.ops.direct_kernels import DirectKernel
    from sardonyx._src.runtime.execution_context import ExecutionContext
    from sardonyx._src.runtime.native_program import NativeProgram

KERNEL_ERRORS = (Located, MemoryError, *OPERAND_ERRORS, *INTERNAL_ERRORS)
Read: TypeAlias = (
    Array | Value | TensorView | None
)  # a view of the arena; a Python value; a tensor of the caller


class ChangedResult(Exception):
    """A kernel failed, or its result is unlike that of the runs before."""


@dataclass(frozen=True, slots=True)
class FallbackCall:
    """A fallback operation: its kernel, where its inputs are, and the values that it computes (None: unused).

    inputs: if they are the same arrays in all runs, of `size` bytes.  write: the only one of `writes`.  shares_nothing: whether
    its results are known to be no views of inputs.
    """

    kernel: DirectKernel
    reads: tuple[Read, ...]
    inputs: list[Array] | None
    size: int | None
    writes: tuple[Value | None, ...]
    write: Value | None
    shares_nothing: bool


@dataclass(frozen=True, slots=True)
class FusedCall:
    """A fallback operation that a later call performs, too."""

    def perform(self, _: Mapping[Value, RuntimeValue]) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """The copy of a value into the tensor that native steps read."""

    value: Value
    tensor: Array
    shape: tuple[int, ...]

    def perform(self, values: Mapping[Value, RuntimeValue]) -> None:
        """Copies; raises ChangedResult for a value of another shape or element type."""
        array = values[self.value]
        if not isinstance(array, np.ndarray) or array.shape != self.shape or array.dtype != self.tensor.dtype:
            raise ChangedResult
        self.tensor[...] = array


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """The comparison of data-dependent sizes with those of the runs before.

    shape: of the value, None where any length will do.  count: where a native step has written the number `length`, instead.
    """

    value: Value
    shape: tuple[int | None, ...]
    count: Array | None
    length: int

    def perform(self, values: Mapping[Value, RuntimeValue]) -> None:
        """Raises ChangedResult for other sizes."""
        if self.count is not None:
            if int(self.count[0]) != self.length:
                raise ChangedResult
            return
        array = values[self.value]
        if not isinstance(array, np.ndarray) or array.ndim != len(self.shape):
            raise ChangedResult
        if any(n is not None and n != size for n, size in zip(self.shape, array.shape, strict=True)):
            raise ChangedResult


class FallbackCalls:
    """The actions of a program that are not kernel steps, bound for the input sizes that a context is specialized for."""

    def __init__(self, context: ExecutionContext) -> None:
        native = context.native
        self.context, self.actions = context, native.program.actions
        self.constants = native.fallback.constants
        self.calls: dict[int, FallbackCall | FusedCall | TensorCopy | SizeCheck] = {
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


def is_string_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DataType.STRING


def bind_action(action: Action, context: ExecutionContext) -> FallbackCall | TensorCopy | SizeCheck:
    """A fallback operation, a copy or a binding of sizes, with the views that it reads or writes."""
    if isinstance(action, BindSizes):
        return bind_size_check(action, context)
    if isinstance(action, CopyIn):
        view = context.view(action.tensor, writeable=True)
        return TensorCopy(action.value, view, view.shape)
    assert isinstance(action, FallbackOp), f"{action!r} cannot be called directly"
    from sardonyx._src.ops.direct_kernels import (
        bind_direct_kernel,
    )  # lazy: few programs have fallback operations

    step = context.native.fallback.steps[action.node]
    reads = tuple(bind_read(value, action, context) for value in step.reads)
    arrays = [read for read in reads if isinstance(read, np.ndarray)]
    inputs = arrays if len(arrays) == len(reads) else None
    kernel = bind_direct_kernel(step.node, step.attributes, reads) or bind_kernel(step, context)
    size = None if inputs is None else sum(x.nbytes for x in inputs)
    return FallbackCall(kernel, reads, inputs, size, step.writes, step.write, returns_copies(action.node))


def bind_size_check(action: BindSizes, context: ExecutionContext) -> SizeCheck:
    """The comparison with the sizes that a context is specialized for."""
    lengths = {axis: context.lengths[context.native.symbol_indices[s]] for axis, s in action.symbols.items()}
    shape = tuple(lengths.get(axis) for axis in range(action.rank))
    if action.count is None:
        return SizeCheck(action.value, shape, None, 0)
    (length,) = lengths.values()
    return SizeCheck(action.value, shape, context.view(action.count), length)


def bind_kernel(step: NodeStep, context: ExecutionContext) -> Eval:
    """The kernel of a step as a function of its inputs, under the limits of earlier runs."""
    if step.kernel is not None:
        kernel: Eval = partial(step.kernel, **step.attributes)
    else:
        assert step.bind is not None and context.calls_frame is not None, f"{step.node!r} has no kernel"
        kernel = step.bind(context.calls_frame)
    return kernel


def ignore_numeric_errors(kernel: DirectKernel) -> DirectKernel:
    """A kernel to be called in a thread that has not been prepared for kernels."""
    return np.errstate(all="ignore")(kernel)


def moves_elements(node: Node) -> bool:
    """Whether the kernel of a node computes nothing, so that NumPy has nothing to warn of."""
    op = find(node.domain, node.op_type)
    assert op is not None, f"{node!r} has no operator"
    has_strings = any(is_string_tensor(value) for value in (*node.inputs, *node.outputs) if value is not None)
    return has_strings or op.returns_copies or op.is_data_movement(node)


def bind_read(value: Value | None, action: FallbackOp, context: ExecutionContext) -> Read:
    """Where an input is during a run."""
    if value is None:
        return None
    tensor = action.native_inputs.get(value)
    if tensor is None:
        constant = context.native.fallback.constants.get(value)
        return constant if isinstance(constant, np.ndarray) else value
    return context.view(tensor) if tensor.buffer.role not in ("input", "output") else tensor


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
