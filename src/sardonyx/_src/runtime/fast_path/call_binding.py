"""Binding: finds the kernels of fallback operations and the arrays that they read once, for all later runs of the same sizes.

The checks of a fallback operation in an ordinary run depend only on the element types and shapes of its inputs, and on the
shapes of its results.  They passed in the earlier run, so that they are not repeated on the fast path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.run_state import Frame, reseeded_state
from sardonyx._src.interp.steps import NodeStep
from sardonyx._src.ir import Node, TensorType, Value
from sardonyx._src.ops.api import Eval
from sardonyx._src.ops.bound_kernel import BoundInput, BoundKernel, NodeBinding
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.fallbacks.fallback_ops import MIN_LONG_INPUTS, returns_copies
from sardonyx._src.runtime.fast_path.bound_calls import (
    BoundCall,
    CallerView,
    PythonCall,
    Read,
    ReplacedCall,
    SizeCheck,
    TensorCopy,
)
from sardonyx._src.runtime.fast_path.recorded_run import RecordedRun, python_inputs
from sardonyx._src.runtime.programs.context_memory import ContextMemory


class CallBinder:
    """Binds the actions of a program that are not kernel steps to a context that is specialized for certain input sizes."""

    def __init__(self, memory: ContextMemory, recorded: RecordedRun) -> None:
        self.memory, self.recorded = memory, recorded
        self.native, self.fallback = memory.native, memory.native.fallback
        self.actions, self.fed = self.native.program.actions, set(python_inputs(self.native.program))
        self.records = {a.node: i for i, a in enumerate(self.actions) if isinstance(a, FallbackOp)}

    def bind_all(self) -> dict[int, PythonCall]:
        """The bound actions by record, the position of an action in the program."""
        calls: dict[int, PythonCall] = {}
        bound = {node: kernel for node in self.records if (kernel := self.bound_kernel(node)) is not None}
        for record, action in enumerate(self.actions):
            if isinstance(action, FallbackOp):
                calls[record] = self.bind_call(action, bound.get(action.node))
            elif not isinstance(action, Step):
                calls[record] = self.bind_action(action)
        for node, kernel in bound.items():
            calls.update((self.records[replaced], ReplacedCall()) for replaced in kernel.replaces)
            if kernel.takes_out:
                self.write_in_place(calls, self.records[node])
        return calls

    def bind_action(self, action: Action) -> TensorCopy | SizeCheck:
        """A copy or a binding of sizes, with the views that it reads or writes."""
        if isinstance(action, BindSizes):
            return self.bind_size_check(action)
        assert isinstance(action, CopyIn), f"{action!r} cannot be called directly"
        view = self.memory.view(action.tensor, writeable=True)
        return TensorCopy(action.value, view, view.shape)

    def bind_size_check(self, action: BindSizes) -> SizeCheck:
        """The comparison with the sizes that the context is specialized for."""
        memory, indices = self.memory, self.memory.native.symbol_indices
        lengths = {axis: memory.lengths[indices[symbol]] for axis, symbol in action.symbols.items()}
        shape = tuple(lengths.get(axis) for axis in range(action.rank))
        if action.count is None:
            return SizeCheck(action.value, shape, None, 0)
        (length,) = lengths.values()
        return SizeCheck(action.value, shape, memory.view(action.count), length)

    # --- fallback operations -----------------------------------------------------------------

    def bind_call(self, action: FallbackOp, bound: BoundKernel | None) -> BoundCall:
        """The call of a fallback operation, with the views that it reads.  bound: its bound kernel, if it has one."""
        step = self.fallback.steps[action.node]
        reads = (
            self.reads_of(bound.replaces[0])[:1] if bound and bound.replaces else self.reads_of(action.node)
        )
        arrays = [read for read in reads if isinstance(read, np.ndarray)]
        are_same, size = len(arrays) == len(reads), sum(x.nbytes for x in arrays)
        return BoundCall(
            bind_kernel(step, self.recorded.frame) if bound is None else bound.function,
            reads,
            arrays if are_same else None,
            size if are_same else 0,
            step.writes,
            step.write,
            is_short=bound is not None and are_same and step.write is not None and size < MIN_LONG_INPUTS,
            shares_nothing=bound is not None or returns_copies(action.node),
            takes_sequences=bound is None and may_take_sequences(step),
            computes=not moves_elements(action.node) and not (bound and bound.replaces),
        )

    def write_in_place(self, calls: dict[int, PythonCall], record: int) -> None:
        """Lets a kernel write to the tensor into which the next action copies its result, if nothing else reads this result."""
        call, copy = calls[record], calls.get(record + 1)
        assert isinstance(call, BoundCall), "only a fallback operation has a bound kernel"
        if not isinstance(copy, TensorCopy) or copy.value is not call.write or self.readers[copy.value] > 1:
            return
        if copy.tensor.flags.c_contiguous:
            calls[record] = replace(call, kernel=partial(call.kernel, out=copy.tensor))

    @cached_property
    def readers(self) -> Counter[Value]:
        """For each value that Python holds, the number of actions that read it; the caller reads the outputs."""
        readers = Counter(list(self.native.program.outputs))
        for action in self.actions:
            readers.update(values_read(action))
        return readers

    def reads_of(self, node: Node) -> tuple[Read, ...]:
        """The sources of the inputs of a node during a run."""
        action = self.actions[self.records[node]]
        assert isinstance(action, FallbackOp), f"{node!r} is no fallback operation"
        return tuple(self.bind_read(value, action) for value in self.fallback.steps[node].reads)

    def bind_read(self, value: Value | None, action: FallbackOp) -> Read:
        if value is None:
            return None
        tensor = action.native_inputs.get(value)
        if tensor is None:
            constant = self.fallback.constants.get(value)
            return constant if isinstance(constant, np.ndarray) else value
        is_caller = tensor.buffer.role in ("input", "output")
        return CallerView.of(tensor, self.memory) if is_caller else self.memory.view(tensor)

    # --- bound kernels -----------------------------------------------------------------------

    def bound_kernel(self, node: Node) -> BoundKernel | None:
        """What the bind facet of a node's operator returns for it; None if there is no such facet."""
        op, schema = find(node.domain, node.op_type), self.fallback.steps[node].schema
        assert op is not None and schema is not None, f"{node!r} has no operator"
        bind = op.binds.get(schema.since_version)
        return None if bind is None else bind(self.node_binding(node))

    def node_binding(self, node: Node) -> NodeBinding:
        """A node for its bind facet."""
        frame = self.recorded.frame
        assert frame is not None, "a run with all checks comes first"
        return NodeBinding(
            node,
            self.fallback.steps[node].attributes,
            tuple(map(self.bound_input, self.reads_of(node))),
            partial(self.find_producer, node),
            partial(state_of, frame),
            frame.run.limits.iterations,
        )

    def bound_input(self, read: Read) -> BoundInput:
        """What is known of an input: fed strings have the shape of the earlier run, which native code compares."""
        if isinstance(read, np.ndarray):
            return BoundInput(read.shape, read.dtype, read)
        if isinstance(read, CallerView):
            return BoundInput(read.shape, read.dtype)
        shape = self.recorded.shapes.get(read) if read is not None and read in self.fed else None
        dims = tuple(n for n in shape or () if isinstance(n, int))
        return BoundInput(dims if shape is not None and len(dims) == len(shape) else None)

    def find_producer(self, node: Node, i: int) -> NodeBinding | None:
        """The fallback operation that computes input i of a node, if it computes nothing else and nothing else reads it."""
        value = node.inputs[i]
        producer = None if value is None else value.producer
        if value is None or producer not in self.records or self.readers[value] > 1:
            return None
        return self.node_binding(producer) if self.fallback.steps[producer].write is value else None


def state_of(frame: Frame, seed: float | None) -> np.random.RandomState:
    """The state from which a kernel draws: that of a seed, else the one of the session."""
    return frame.run.random_source() if seed is None else reseeded_state(seed)


def bind_kernel(step: NodeStep, frame: Frame | None) -> Eval:
    """The kernel of a step as a function of its inputs, under the limits of earlier runs."""
    if step.kernel is not None:
        kernel: Eval = partial(step.kernel, **step.attributes)
    else:
        assert step.bind is not None and frame is not None, f"{step.node!r} has no kernel"
        kernel = step.bind(frame)
    return kernel


def may_take_sequences(step: NodeStep) -> bool:
    """Whether the signature of a step allows an input that is a sequence, or an optional sequence."""
    schema = step.schema
    assert schema is not None, f"{step.node!r} has no schema"
    return any("seq(" in name for parameter in schema.inputs for name in schema.allowed_types(parameter))


def moves_elements(node: Node) -> bool:
    """Whether the kernel of a node computes no numbers, so that NumPy cannot warn of numeric errors."""
    op = find(node.domain, node.op_type)
    assert op is not None, f"{node!r} has no operator"
    has_strings = any(is_string_tensor(value) for value in (*node.inputs, *node.outputs) if value is not None)
    return has_strings or op.returns_copies or op.is_data_movement(node)


def is_string_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DataType.STRING


def values_read(action: Action) -> Iterator[Value]:
    """The values held by Python that an action reads."""
    if isinstance(action, FallbackOp):
        yield from (value for value in action.node.inputs if value is not None)
    elif isinstance(action, CopyIn | BindSizes):
        yield action.value
