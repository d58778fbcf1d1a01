"""Kernel writer: the interface by which callers write native kernels in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from sardonyx._src.build.attributes import element_type_of
from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import (
    LLVM_ELEMENTS,
    convert,
    from_memory,
    memory_type,
    to_memory,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.operations import BINARY_OPS, INTRINSIC_NAMES, UNARY_OPS
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError

Number = LLVMValue  # a number that the kernel computes; Python's operators emit its instructions


class KernelTensor:
    """A tensor that a kernel reads or writes, dense in row-major order: `x[i]` is the element at the flat index i.

    Elements of float16 and bfloat16 are read and written as float32.
    """

    def __init__(self, writer: KernelWriter, dtype: DataType, base: str, sizes: Sequence[Number]) -> None:
        self.dtype, self.sizes = dtype, tuple(sizes)
        self._writer, self._base = writer, base

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def size(self) -> Number:
        """The number of elements."""
        total = self._writer.integer(1)
        for size in self.sizes:
            total = total * size
        return total

    def __getitem__(self, index: Number | int) -> Number:
        builder = self._writer.builder
        value = from_memory(builder.load(self._slot(index)), self.dtype)
        return convert(builder, value, "float") if value.type.is_half else value

    def __setitem__(self, index: Number | int, value: Number | float) -> None:
        builder, element = self._writer.builder, LLVM_ELEMENTS[self.dtype]
        number = self._writer.as_number(value, self.dtype)
        if number.type.element != element:
            number = convert(builder, number, element)
        builder.store(self._slot(index), to_memory(number, self.dtype))

    def _slot(self, index: Number | int) -> MemoryLocation:
        builder, kind = self._writer.builder, memory_type(self.dtype)
        flat_index = builder.as_value(index, I64)
        return MemoryLocation(builder.gep(self._base, flat_index, kind.llvm_element), kind)


class Variable:
    """A number that loops change: `total.value` reads it, and assigning to it writes it."""

    def __init__(self, writer: KernelWriter, initial: Number) -> None:
        self._writer = writer
        self._slot = writer.builder.new_slot("variable", initial.type)
        self.value = initial

    @property
    def value(self) -> Number:
        return self._writer.builder.load(self._slot)

    @value.setter
    def value(self, number: Number | float) -> None:
        builder = self._writer.builder
        builder.store(self._slot, builder.as_value(number, self._slot.type))


class KernelWriter:
    """Writes a kernel: loops, numbers with Python's operators, and functions of them.

    A function receives the writer, the tensors of the inputs (None: left out) and outputs, and the attributes as keywords:

        def write_swoosh(k, x, y, *, alpha):
            with k.units() as i:
                y[i] = x[i] / (1 + k.exp(-alpha * x[i]))

    The operands of an operation must have the same type; a Python number gets the type of the other operand.  Indices are
    not checked against the size of the tensor.
    """

    def __init__(self, builder: KernelBuilder) -> None:
        self.builder = builder

    def units(self) -> AbstractContextManager[Number]:
        """The body of a loop over the units of work of this call; units are independent of one another."""
        return self.loop(self.builder.first_unit, self.builder.end_unit)

    @contextmanager
    def loop(self, first: Number | int, end: Number | int) -> Iterator[Number]:
        """The body of a loop over first, first + 1, ... below end."""
        builder = self.builder
        with builder.loop(builder.as_value(first, I64), builder.as_value(end, I64)) as i:
            yield i

    def variable(self, initial: Number | float, dtype: str = "float32") -> Variable:
        """A variable with an initial value; dtype: the element type of a Python number as initial value."""
        return Variable(self, self.number(initial, dtype) if not isinstance(initial, LLVMValue) else initial)

    def number(self, value: float, dtype: str = "float32") -> Number:
        """A constant of an element type."""
        return self.builder.constant(value, LLVMType(LLVM_ELEMENTS[element_type_of(dtype)]))

    def integer(self, value: int) -> Number:
        """An int64 constant, the type of indices and sizes."""
        return self.builder.constant(value, I64)

    def cast(self, value: Number, dtype: str) -> Number:
        """The number as another element type, as Cast converts it."""
        return convert(self.builder, value, LLVM_ELEMENTS[element_type_of(dtype)])

    def where(self, condition: Number, then: Number | float, otherwise: Number) -> Number:
        return self.builder.select(condition, then, otherwise)

    def function(self, name: str, *operands: Number) -> Number:
        """Applies a function of the compiler's tables by name; exp, log, tanh, erf and the like only take float32.

        Raises InputError for an unknown name; the message lists the names.
        """
        known = (*UNARY_OPS, *BINARY_OPS, *INTRINSIC_NAMES, *self.builder.vector_functions)
        if name not in known:
            raise InputError(
                f"a function must be one of {', '.join(sorted(known))}; got {name!r}", name="name"
            )
        return self.builder.emit_operation(name, *operands)

    def exp(self, x: Number) -> Number:
        return self.function("exp", x)

    def log(self, x: Number) -> Number:
        return self.function("log", x)

    def tanh(self, x: Number) -> Number:
        return self.function("tanh", x)

    def sqrt(self, x: Number) -> Number:
        return self.function("sqrt", x)

    def abs(self, x: Number) -> Number:
        return self.function("abs", x)

    def max(self, x: Number, y: Number | float) -> Number:
        """The greater number; NaN if either is NaN."""
        return self.function("max", x, self.builder.as_value(y, x.type))

    def min(self, x: Number, y: Number | float) -> Number:
        """The lesser number; NaN if either is NaN."""
        return self.function("min", x, self.builder.as_value(y, x.type))

    def as_number(self, value: Number | float, dtype: DataType) -> Number:
        """`value` itself if the kernel computes it; a Python number as a constant of `dtype`, float32 for half precision."""
        element = LLVM_ELEMENTS[dtype]
        kind = LLVMType("float" if LLVMType(element).is_half else element)
        return value if isinstance(value, LLVMValue) else self.builder.constant(value, kind)


def write_kernel(
    name: str,
    target: Target,
    write: Callable[..., object],
    types: Sequence[tuple[DataType, int] | None],
    attributes: Mapping[str, object],
    parameters: Parameters,
) -> str:
    """The LLVM module of a kernel that the function `write` writes.

    types: element type and rank of each tensor; None for an input that is left out.
    attributes: keywords of `write`.
    """
    builder = KernelBuilder(target, parameters)
    writer = KernelWriter(builder)
    tensors: list[KernelTensor | None] = []
    slot, number = 0, 0
    for kind in types:
        if kind is None:
            tensors.append(None)
            continue
        dtype, rank = kind
        sizes = [builder.integer(f"sizes[{slot + axis}]") for axis in range(rank)]
        tensors.append(KernelTensor(writer, dtype, builder.pointer(f"tensor_{number}"), sizes))
        slot, number = slot + rank, number + 1
    write(writer, *tensors, **attributes)
    return builder.build_module(name)
