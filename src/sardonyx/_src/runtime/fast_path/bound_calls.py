"""Actions of a program that Python performs on the fast path, bound to memory for the sizes of an earlier run.

Each has a method `perform`, which raises ChangedResult where the run must start over with all checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import Located
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.steps import INTERNAL_ERRORS, as_value
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import OPERAND_ERRORS, Evaluated
from sardonyx._src.ops.run_values import SEQUENCES, RuntimeValue
from sardonyx._src.runtime.fallbacks.fallback_ops import MIN_LONG_INPUTS
from sardonyx._src.runtime.fallbacks.interruptible_calls import call_interruptibly
from sardonyx._src.runtime.fast_path.call_values import copy_array, copy_if_view
from sardonyx._src.runtime.fast_path.recorded_run import ChangedResult
from sardonyx._src.runtime.programs.context_memory import ContextMemory

KERNEL_ERRORS = (Located, MemoryError, *OPERAND_ERRORS, *INTERNAL_ERRORS)


class CallerView(NamedTuple):
    """A view of a feed or output, which is another array in every run.

    strides, offset: in bytes.
    arrays: the arrays of the run.
    """

    buffer: Buffer
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    strides: tuple[int, ...]
    offset: int
    arrays: Mapping[Buffer, Array]

    @classmethod
    def of(cls, tensor: TensorView, memory: ContextMemory) -> CallerView:
        dtype, shape = tensor.dtype.numpy, memory.shape(tensor)
        strides = tuple(memory.evaluate(stride) * dtype.itemsize for stride in tensor.strides)
        offset = 0 if 0 in shape else memory.evaluate(tensor.offset) * dtype.itemsize
        return cls(tensor.buffer, shape, dtype, strides, offset, memory.caller_arrays)

    def read(self) -> Array:
        """The view in the array of this run, read-only."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        view: Array = np.ndarray(self.shape, self.dtype, self.arrays[self.buffer], self.offset, self.strides)
        view.flags.writeable = False
        return view


# The source of an input: a view of the arena or a constant; a value that Python holds; a view of a caller's array; None for
# an omitted input.
Read: TypeAlias = Array | Value | CallerView | None


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A fallback operation, ready to be called.

    kernel: a function of the inputs.
    reads: the source of each input.
    inputs: the inputs themselves, if they are the same arrays in all runs, else None.
    size: the bytes of these inputs.
    writes: the values that the operation computes (None: an unused result).
    write: the only one of `writes`; None if there are several.
    is_short: whether a bound kernel computes `write` from few bytes of `inputs`, so that a run need not be ended before it.
    shares_nothing: whether no result can be a view of an input.
    takes_sequences: whether an input may be a sequence.
    computes: whether the kernel computes numbers, so that NumPy may warn of numeric errors.
    """

    kernel: Callable[..., Evaluated]
    reads: tuple[Read, ...]
    inputs: Sequence[Array] | None
    size: int
    writes: tuple[Value | None, ...]
    write: Value | None
    is_short: bool
    shares_nothing: bool
    takes_sequences: bool
    computes: bool

    def perform(self, values: dict[Value, RuntimeValue], control: RunControl) -> None:
        """Calls the kernel, and stores its results."""
        inputs: Sequence[RuntimeValue] | None = self.inputs
        write = self.write
        if self.is_short and inputs is not None and write is not None:
            try:
                values[write] = self.kernel(*inputs)  # type: ignore[assignment]  # a bound kernel returns no tuple
            except KERNEL_ERRORS:
                raise ChangedResult from None
            return
        control.check()
        size = self.size
        if inputs is None:
            inputs = self.fetch_inputs(values)
            for x in inputs:
                size += x.nbytes if isinstance(x, np.ndarray) else 0
        try:
            if size < MIN_LONG_INPUTS:
                result = self.kernel(*inputs)
            else:  # in a helper thread, so that the caller can stop waiting
                result = call_interruptibly(partial(ignore_numeric_errors(self.kernel), *inputs), control)
        except KERNEL_ERRORS:
            raise ChangedResult from None
        if write is not None and not isinstance(result, tuple):
            values[write] = result if self.shares_nothing else copy_if_view(as_value(result), inputs)
        else:
            self.store_results(result if isinstance(result, tuple) else (result,), inputs, values)

    def fetch_inputs(self, values: Mapping[Value, RuntimeValue]) -> list[RuntimeValue]:
        """The inputs; copies of memory that is written in every run, if they may become elements of a sequence."""
        inputs = [values[r] if type(r) is Value else fetch_input(r, values) for r in self.reads]
        if self.takes_sequences and any(isinstance(x, SEQUENCES) for x in inputs):
            pairs = zip(inputs, self.reads, strict=True)
            return [x if isinstance(read, Value) else copy_array(x) for x, read in pairs]
        return inputs

    def store_results(
        self,
        results: Sequence[RuntimeValue],
        inputs: Sequence[RuntimeValue],
        values: dict[Value, RuntimeValue],
    ) -> None:
        for value, item in zip(self.writes, results, strict=False):
            if value is not None:
                values[value] = item if self.shares_nothing else copy_if_view(as_value(item), inputs)


def fetch_input(read: Read, values: Mapping[Value, RuntimeValue]) -> RuntimeValue:
    """The value of an input."""
    if isinstance(read, Value):
        return values[read]
    return read.read() if isinstance(read, CallerView) else read


def ignore_numeric_errors(kernel: Callable[..., Evaluated]) -> Callable[..., Evaluated]:
    """A kernel for another thread: NumPy's handling of numeric errors is set separately for each thread."""
    return np.errstate(all="ignore")(kernel)


@dataclass(frozen=True, slots=True)
class ReplacedCall:
    """A fallback operation whose work the bound kernel of a later one does as well."""

    def perform(self, _values: dict[Value, RuntimeValue], _control: RunControl) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """The copy of a value into the tensor that native steps read."""

    value: Value
    tensor: Array
    shape: tuple[int, ...]

    def perform(self, values: dict[Value, RuntimeValue], _control: RunControl) -> None:
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

    def perform(self, values: dict[Value, RuntimeValue], _control: RunControl) -> None:
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


PythonCall: TypeAlias = BoundCall | ReplacedCall | TensorCopy | SizeCheck
