"""Actions of a program that Python performs on the fast path, bound to memory for the sizes of an earlier run.

*Binding* finds the kernel of a fallback operation and the arrays that it reads once, for all later runs with these sizes.
The checks of a fallback operation in an ordinary run depend only on the element types and shapes of its inputs, and on the
shapes of its results.  They passed in the earlier run, so that they are not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.steps.program import Action, BindSizes, CopyIn, FallbackOp
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import Located
from sardonyx._src.interp.run_state import Frame, reseeded_state
from sardonyx._src.interp.steps import INTERNAL_ERRORS, NodeStep
from sardonyx._src.ir import Array, Node, TensorType, Value
from sardonyx._src.ops.api import OPERAND_ERRORS, Eval, Evaluated, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.fallbacks.fallback_ops import MIN_LONG_INPUTS, returns_copies
from sardonyx._src.runtime.programs.context_memory import ContextMemory

if TYPE_CHECKING:
    from sardonyx._src.ops.direct_kernels import DirectKernel

KERNEL_ERRORS = (Located, MemoryError, *OPERAND_ERRORS, *INTERNAL_ERRORS)


class CallerView(NamedTuple):
    """A view of a feed or output, which is another array in every run.  strides, offset: in bytes."""

    buffer: Buffer
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: TensorView, memory: ContextMemory) -> CallerView:
        dtype, shape = tensor.dtype.numpy, memory.shape(tensor)
        strides = tuple(memory.evaluate(stride) * dtype.itemsize for stride in tensor.strides)
        offset = 0 if 0 in shape else memory.evaluate(tensor.offset) * dtype.itemsize
        return cls(tensor.buffer, shape, dtype, strides, offset)

    def read(self, array: Array) -> Array:
        """The view in this array, read-only."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        view: Array = np.ndarray(self.shape, self.dtype, array, self.offset, self.strides)
        view.flags.writeable = False
        return view


# The source of an input: a view of the arena or a constant; a value that Python holds; a view of a caller's array; None for
# an omitted input.
Read: TypeAlias = Array | Value | CallerView | None


class ChangedResult(Exception):
    """A kernel failed, or a result has another shape or type than in earlier runs: a run with all checks must start over."""


@dataclass(frozen=True, slots=True)
class FallbackCall:
    """A fallback operation, ready to be called.

    kernel: a function of the inputs.
    reads: the source of each input.
    inputs: the inputs themselves, if they are the same arrays in all runs, else None.
    size: the bytes of these inputs.
    writes: the values that the operation computes (None: an unused result).
    write: the only one of `writes`; None if there are several.
    shares_nothing: whether no result can be a view of an input.
    takes_sequences: whether an input may be a sequence.
    """

    kernel: Callable[..., Evaluated]
    reads: tuple[Read, ...]
    inputs: list[Array] | None
    size: int | None
    writes: tuple[Value | None, ...]
    write: Value | None
    shares_nothing: bool
    takes_sequences: bool


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A fallback operation on few elements whose inputs are the same arrays in all runs.

    kernel: a function that is specialized for these arrays (`ops/direct_kernels`).
    """

    kernel: DirectKernel
    inputs: tuple[Array, ...]
    write: Value

    def perform(self, values: dict[Value, RuntimeValue]) -> None:
        """Calls the kernel; raises ChangedResult where it fails."""
        try:
            values[self.write] = self.kernel(*self.inputs)
        except KERNEL_ERRORS:
            raise ChangedResult from None


@dataclass(frozen=True, slots=True)
class FusedCall:
    """A fallback operation whose work is part of a later call (`fused_calls.py`)."""

    def perform(self, _: dict[Value, RuntimeValue]) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """The copy of a value into the tensor that native steps read."""

    value: Value
    tensor: Array
    shape: tuple[int, ...]

    def perform(self, values: dict[Value, RuntimeValue]) -> None:
        """Copies; raises ChangedResult for a value of another shape or element type."""
        array = values[self.value]
        if not isinstance(array, np.ndarray) or array.shape != self.shape or array.dtype != self.tensor.dtype:
            raise ChangedResult
        if array is not self.tensor:
            self.tensor[...] = array


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """The comparison of data-dependent sizes with those of the earlier run.

    value: the value that has the sizes.
    shape: its expected dims; None for a dim of any length.
    count: for a size that a native step counts, the array of one element with that count; else None.
    length: the expected count.
    """

    value: Value
    shape: tuple[int | None, ...]
    count: Array | None
    length: int

    def perform(self, values: dict[Value, RuntimeValue]) -> None:
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


PythonCall: TypeAlias = FallbackCall | DirectCall | FusedCall | TensorCopy | SizeCheck


def is_string_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DataType.STRING


def bind_action(action: Action, memory: ContextMemory, frame: Frame | None) -> PythonCall:
    """The call of an action: a fallback operation, a copy or a binding of sizes, with the views that it reads or writes.

    frame: has the limits and random numbers of the session.
    """
    if isinstance(action, BindSizes):
        return bind_size_check(action, memory)
    if isinstance(action, CopyIn):
        view = memory.view(action.tensor, writeable=True)
        return TensorCopy(action.value, view, view.shape)
    assert isinstance(action, FallbackOp), f"{action!r} cannot be called directly"
    return bind_call(action, memory, frame)


def bind_call(action: FallbackOp, memory: ContextMemory, frame: Frame | None) -> FallbackCall | DirectCall:
    """The call of a fallback operation, with the views that it reads."""
    from sardonyx._src.ops.direct_kernels import bind_direct_kernel  # lazy: few programs have such operations

    step = memory.native.fallback.steps[action.node]
    reads = tuple(bind_read(value, action, memory) for value in step.reads)
    inputs = [read for read in reads if isinstance(read, np.ndarray)]
    is_bound, size = len(inputs) == len(reads), sum(x.nbytes for x in inputs)
    direct = bind_direct_kernel(step.node, step.attributes, reads, random_states(frame))
    if direct is not None and is_bound and step.write is not None and size < MIN_LONG_INPUTS:
        return DirectCall(direct, tuple(inputs), step.write)
    return FallbackCall(
        direct or bind_kernel(step, frame),
        reads,
        inputs if is_bound else None,
        size if is_bound else None,
        step.writes,
        step.write,
        direct is not None or returns_copies(action.node),
        may_take_sequences(step),
    )


def random_states(frame: Frame | None) -> Callable[[float | None], np.random.RandomState]:
    """A function from a seed to the state from which a kernel draws; without a seed, to the state of the session."""
    assert frame is not None, "a run with all checks comes first"
    source = frame.run.random_source
    return lambda seed: source() if seed is None else reseeded_state(seed)


def may_take_sequences(step: NodeStep) -> bool:
    """Whether the signature of a step allows an input that is a sequence, or an optional sequence."""
    schema = step.schema
    assert schema is not None, f"{step.node!r} has no schema"
    return any("seq(" in name for parameter in schema.inputs for name in schema.allowed_types(parameter))


def bind_size_check(action: BindSizes, memory: ContextMemory) -> SizeCheck:
    """The comparison with the sizes that a context is specialized for."""
    lengths = {axis: memory.lengths[memory.native.symbol_indices[s]] for axis, s in action.symbols.items()}
    shape = tuple(lengths.get(axis) for axis in range(action.rank))
    if action.count is None:
        return SizeCheck(action.value, shape, None, 0)
    (length,) = lengths.values()
    return SizeCheck(action.value, shape, memory.view(action.count), length)


def bind_kernel(step: NodeStep, frame: Frame | None) -> Eval:
    """The kernel of a step as a function of its inputs, under the limits of earlier runs."""
    if step.kernel is not None:
        kernel: Eval = partial(step.kernel, **step.attributes)
    else:
        assert step.bind is not None and frame is not None, f"{step.node!r} has no kernel"
        kernel = step.bind(frame)
    return kernel


def ignore_numeric_errors(kernel: Callable[..., Evaluated]) -> Callable[..., Evaluated]:
    """A kernel for another thread: NumPy's handling of numeric errors is set separately for each thread."""
    return np.errstate(all="ignore")(kernel)


def moves_elements(node: Node) -> bool:
    """Whether the kernel of a node computes no numbers, so that NumPy cannot warn of numeric errors."""
    op = find(node.domain, node.op_type)
    assert op is not None, f"{node!r} has no operator"
    has_strings = any(is_string_tensor(value) for value in (*node.inputs, *node.outputs) if value is not None)
    return has_strings or op.returns_copies or op.is_data_movement(node)


def bind_read(value: Value | None, action: FallbackOp, memory: ContextMemory) -> Read:
    """The source of an input during a run."""
    if value is None:
        return None
    tensor = action.native_inputs.get(value)
    if tensor is None:
        constant = memory.native.fallback.constants.get(value)
        return constant if isinstance(constant, np.ndarray) else value
    return CallerView.of(tensor, memory) if tensor.buffer.role in ("input", "output") else memory.view(tensor)
