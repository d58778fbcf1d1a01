"""The kernel of a binding step: reads local sizes, checks them, and stores what depends on them in slots (`local_sizes`).

The kernel belongs to one program, since its code evaluates expressions of that program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from hashlib import sha256
from operator import or_

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.executor.status import FAULT
from sardonyx._src.compile.program import Kernel
from sardonyx._src.compile.program.encoding.dim_builder import DimBuilder
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class SlotStore:
    """A size to store in a slot.

    is_address: whether the slot is an address: the size is a distance in bytes, and the address it counts
        from another argument.
    is_units: whether the size is the number of units of work of a step.
    has_jump: whether that step jumps.  After a fault other steps get 0 units; one that jumps is executed, so
        that its loop ends.
    """

    size: Known
    is_address: bool = False
    is_units: bool = False
    has_jump: bool = False


@dataclass(frozen=True, slots=True)
class SizeBinding:
    """The sizes that a binding step binds, stores and checks.

    names: the symbols that it binds.
    targets: the sizes that it stores.
    dims: the dims that must not be negative.
    equal: the pairs of sizes that must be equal.
    at_most: the pairs of which the first size must be at most the second.
    """

    names: tuple[str, ...]
    targets: tuple[SlotStore, ...]
    dims: tuple[Known, ...]
    equal: tuple[tuple[Known, Known], ...]
    at_most: tuple[tuple[Known, Known], ...]

    @property
    def sizes(self) -> Iterator[Known]:
        """All sizes that the step computes."""
        yield from (target.size for target in self.targets)
        yield from self.dims
        for pair in (*self.equal, *self.at_most):
            yield from pair


def binding_kernel(binding: SizeBinding, others: tuple[str, ...]) -> Kernel:
    """The kernel of a binding step.  others: the symbols that it uses, but does not bind."""
    counts = (f"count{i}" for i in range(len(binding.names)))
    sizes = (f"size{i}" for i in range(len(others)))
    parameters = Parameters("status", *counts, *sizes, "targets*")
    digest = sha256(repr((binding, others)).encode()).hexdigest()[:16]
    source = partial(binding_module, binding=binding, others=others)
    return Kernel(f"bind_sizes_{digest}", source, parameters)


def binding_module(name: str, target: Target, *, binding: SizeBinding, others: Sequence[str]) -> str:
    """The LLVM module of the kernel, whose code does not depend on the processor."""
    b = BindingBuilder()
    status = b.pointer_argument(0)
    for i, symbol in enumerate(binding.names, 1):
        b.symbols[symbol] = b.load(MemoryLocation(b.pointer_argument(i), I64))
    for i, symbol in enumerate(others, 1 + len(binding.names)):
        b.symbols[symbol] = b.argument(i)
    values = [b.emit_dim(each.size) for each in binding.targets]
    fails = [b.load(MemoryLocation(b.slot(status, FAULT), I64)).ne(0)]
    fails += [b.symbols[symbol] < 0 for symbol in binding.names]
    fails += [b.emit_dim(dim) < 0 for dim in binding.dims]
    fails += [b.emit_dim(left).ne(b.emit_dim(right)) for left, right in binding.equal]
    fails += [b.emit_dim(most) < b.emit_dim(size) for size, most in binding.at_most]
    fails += [overflow for _, overflow in b.overflows]
    fails += [b.constant(1, I64).ne(0)] if b.constant_violations else []
    is_fault = reduce(or_, fails)
    with b.if_then(is_fault):
        b.store(MemoryLocation(b.slot(status, FAULT), I64), b.constant(1, I64))
    index = 1 + len(binding.names) + len(others)
    for each, value in zip(binding.targets, values, strict=True):
        address = b.pointer_argument(index)
        if each.is_address:
            value = value + b.argument(index + 1)
        if each.is_units and not each.has_jump:
            value = b.select(is_fault, b.constant(0, I64), value)
        b.store(MemoryLocation(address, I64), value)
        index += 2 if each.is_address else 1
    return b.module(name)


class BindingBuilder(DimBuilder):
    """Builds the function of a binding step."""

    def __init__(self) -> None:
        super().__init__({})

    def slot(self, base: str, index: int) -> str:
        return self.gep(base, self.constant(index, I64), "i64")

    def argument(self, index: int) -> LLVMValue:
        return self.load(MemoryLocation(self.slot("%args", index), I64))

    def pointer_argument(self, index: int) -> str:
        return self.load_pointer(self.slot("%args", index))

    def module(self, name: str) -> str:
        head = f"define void @{name}(ptr %args, i64 %first, i64 %last, ptr %scratch) nounwind {{"
        return "\n".join((*self.declarations, head, "entry:", *self.allocas, *self.lines, " ret void", "}"))
