"""Actions of a program that Python performs on the fast path, bound for the sizes that a context is specialized for.

What a run with all checks verifies of a fallback operation depends on the element types and shapes of its inputs, and on the shapes
of its results; so nothing of it is verified again here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from sardonyx._src.compile.program.program import Action, BindSizes, CopyIn, FallbackOp
from sardonyx._src.compile.program.tensor import Buffer, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import Located
from sardonyx._src.interp.run_state import Frame, reseeded_state
from sardonyx._src.interp.steps import INTERNAL_ERRORS, NodeStep
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import OPERAND_ERRORS, Eval, Evaluated, RuntimeValue
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.fallbacks.fallback_ops import MIN_LONG_INPUTS, returns_copies
from sardonyx._src.runtime.programs.context_memory import ContextMemory

if TYPE_CHECKING:
    from sardonyx._src.ops.direct_kernels import DirectKernel

KERNEL_ERRORS = (Located, MemoryError, *OPERAND_ERRORS, *INTERNAL_ERRORS)


class CallerView(NamedTuple):
    """A view of an array of the caller, for the sizes that a context is specialized for.  strides, offset: in bytes."""

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
        """The view of this array, read-only."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        view: Array = np.ndarray(self.shape, self.dtype, array, self.offset, self.strides)
        view.flags.writeable = False
        return view


Read: TypeAlias = Array | Value | CallerView | None  # a view of the arena, or a constant; a Python value


class ChangedResult(Exception):
    """A kernel failed, or its result is unlike that of the runs before."""


@dataclass(frozen=True, slots=True)
class FallbackCall:
    """A fallback operation: its kernel, where its inputs are, and the values that it computes (None: unused).

    inputs: if they are the same arrays in all runs, of `size` bytes.  write: the only one of `writes`.  shares_nothing: whether
    its results are known to be no views of inputs.  takes_sequences: whether an input may be a sequence.
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
    """A fallback operation of few elements whose inputs are the same arrays in all runs, and whose kernel is bound for them."""

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
    """A fallback operation that a later call performs, too."""

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
    """The comparison of data-dependent sizes with those of the runs before.

    shape: of the value, None where any length will do.  count: where a native step has written the number `length`, instead.
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
    """A fallback operation, a copy or a binding of sizes, with the views that it reads or writes."""
    if isinstance(action, BindSizes):
        return bind_size_check(action, memory)
    if isinstance(action, CopyIn):
        view = memory.view(action.tensor, writeable=True)
        return TensorCopy(action.value, view, view.shape)
    assert isinstance(action, FallbackOp), f"{action!r} cannot be called directly"
    return bind_call(action, memory, frame)


def bind_call(action: FallbackOp, memory: ContextMemory, frame: Frame | None) -> FallbackCall | DirectCall:
    """A fallback operation with the views that it reads."""
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
    """The states from which kernels draw: that of a seed, or without one that of the session."""
    assert frame is not None, "a run with all checks comes first"
    source = frame.run.random_source
    return lambda seed: source() if seed is None else reseeded_state(seed)


def may_take_sequences(step: NodeStep) -> bool:
    """Whether the signature of a step allows an input that is a sequence, or an optional one."""
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
    """A kernel to be called in a thread that has not been prepared for kernels."""
    return np.errstate(all="ignore")(kernel)


def moves_elements(node: Node) -> bool:
    """Whether the kernel of a node computes nothing, so that NumPy has nothing to warn of."""
    op = find(node.domain, node.op_type)
    assert op is not None, f"{node!r} has no operator"
    has_strings = any(is_string_tensor(value) for value in (*node.inputs, *node.outputs) if value is not None)
    return has_strings or op.returns_copies or op.is_data_movement(node)


def bind_read(value: Value | None, action: FallbackOp, memory: ContextMemory) -> Read:
    """Where an input is during a run."""
    if value is None:
        return None
    tensor = action.native_inputs.get(value)
    if tensor is None:
        constant = memory.native.fallback.constants.get(value)
        return constant if isinstance(constant, np.ndarray) else value
    return CallerView.of(tensor, memory) if tensor.buffer.role in ("input", "output") else memory.view(tensor)
