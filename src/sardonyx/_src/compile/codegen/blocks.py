"""Builder of an LLVM function with control flow and memory accesses: loops, branches, loads, stores, masks.

Variables live in stack slots (`alloca`), which LLVM's mem2reg pass promotes to registers, so that no caller has to write
phi nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen.builder import FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.dataclass import dataclass

I64 = LLVMType("i64")


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """A typed memory location: the name of its pointer (`%l0_i`), and the type of the value there."""

    name: str
    type: LLVMType


class BlockBuilder(FunctionBuilder):
    """A function builder with basic blocks, stack slots and memory accesses."""

    def __init__(self, has_fma: bool) -> None:
        super().__init__(has_fma)
        self.allocas: list[str] = []  # instructions of the entry block, which come first in the function

    def new_slot(self, name: str, llvm_type: LLVMType) -> MemoryLocation:
        """Allocates a variable on the stack."""
        slot = MemoryLocation(f"%l{len(self.allocas)}_{name}", llvm_type)
        self.allocas.append(f" {slot.name} = alloca {llvm_type}, align {alignment(llvm_type)}")
        return slot

    def load(self, slot: MemoryLocation) -> LLVMValue:
        return self.emit(slot.type, f"load {slot.type}, ptr {slot.name}, align {alignment(slot.type)}")

    def store(self, slot: MemoryLocation, value: LLVMValue) -> None:
        self.lines.append(f" store {value}, ptr {slot.name}, align {alignment(slot.type)}")

    def gep(self, base: str, index: LLVMValue, element: str = "float") -> str:
        """The name of the pointer to base[index], by `getelementptr`."""
        self._count += 1
        element = element.replace("u", "i") if element in ("u8", "u16", "u32", "u64") else element
        name = f"%p{self._count}"
        self.lines.append(f" {name} = getelementptr {element}, ptr {base}, {index}")
        return name

    def load_pointer(self, address: str) -> str:
        """Loads a pointer from memory; returns its name."""
        self._count += 1
        name = f"%p{self._count}"
        self.lines.append(f" {name} = load ptr, ptr {address}, align 8")
        return name

    @contextmanager
    def loop(
        self, first: LLVMValue, end: LLVMValue, step: LLVMValue | int = 1, name: str = "i"
    ) -> Iterator[LLVMValue]:
        """The body of a loop for i = first, first + step, ... while i + step <= end: `with b.loop(zero, n) as i:`.

        After the loop, i is the first number that was not visited; with a step above 1, the caller handles
        the rest from there on.
        """
        slot = self.new_slot(name, I64)
        self.store(slot, first)
        head, inside, done = (self.new_label(word) for word in ("head", "body", "done"))
        self.enter_block(head)
        i = self.load(slot)
        self.lines.append(f" br {i + step <= end}, label %{inside}, label %{done}")
        self.start_block(inside)
        yield i
        self.store(slot, i + step)
        self.lines.append(f" br label %{head}")
        self.start_block(done)

    @contextmanager
    def if_then(self, condition: LLVMValue) -> Iterator[None]:
        """Code that runs if a scalar condition holds: `with b.if_then(n > 0):`."""
        inside, done = self.new_label("then"), self.new_label("done")
        self.lines.append(f" br {condition}, label %{inside}, label %{done}")
        self.start_block(inside)
        yield
        self.enter_block(done)

    def udiv(self, a: LLVMValue, b: LLVMValue | int) -> LLVMValue:
        """a // b of integers a >= 0, b > 0."""
        return self.emit(I64, f"udiv {a}, {self.as_value(b, I64).name}")

    def udivmod(self, a: LLVMValue, b: LLVMValue | int) -> tuple[LLVMValue, LLVMValue]:
        """(a // b, a % b) of integers a >= 0, b > 0."""
        quotient = self.udiv(a, b)
        return quotient, a - quotient * b

    def min(self, a: LLVMValue, b: LLVMValue | int) -> LLVMValue:
        """The smaller of two integers."""
        return self.select(a < b, a, self.as_value(b, a.type))

    def select_pointer(self, condition: LLVMValue, then: str, otherwise: str) -> str:
        """The name of one of two pointers, by a scalar condition."""
        name = f"%{self.new_label('one')}"
        self.lines.append(f" {name} = select {condition}, ptr {then}, ptr {otherwise}")
        return name

    def lane_mask(self, count: LLVMValue, lanes: int) -> LLVMValue:
        """The mask [lanes] i1 of the first `count` lanes; of all lanes if the count is greater."""
        count = self.select(count < lanes, count, self.constant(lanes, I64)).convert("trunc", "i32")
        numbers = ", ".join(f"i32 {i}" for i in range(lanes))
        return LLVMValue(self, LLVMType("i32", lanes), f"<{numbers}>") < self.splat(count, lanes)

    def masked_load(self, mask: LLVMValue, slot: MemoryLocation) -> LLVMValue:
        """Loads the lanes in the mask; the others are 0, and their memory is not accessed."""
        name = f"@llvm.masked.load.{slot.type.suffix}.p0"
        self.declarations[f"declare {slot.type} {name}(ptr, i32 immarg, {mask.type}, {slot.type})"] = None
        pointer = f"ptr {slot.name}, i32 {alignment(slot.type)}"
        return self.emit(
            slot.type, f"call {slot.type} {name}({pointer}, {mask}, {slot.type} zeroinitializer)"
        )

    def masked_store(self, mask: LLVMValue, slot: MemoryLocation, value: LLVMValue) -> None:
        """Stores the lanes in the mask; the memory of the others is not accessed."""
        name = f"@llvm.masked.store.{slot.type.suffix}.p0"
        self.declarations[f"declare void {name}({slot.type}, ptr, i32 immarg, {mask.type})"] = None
        self.lines.append(f" call void {name}({value}, ptr {slot.name}, i32 {alignment(slot.type)}, {mask})")

    def new_label(self, word: str) -> str:
        """A block name that is unique in the function."""
        self._count += 1
        return f"{word}{self._count}"

    def enter_block(self, block: str) -> None:
        """Branches to a new block and continues there."""
        self.lines.append(f" br label %{block}")
        self.start_block(block)

    def splat(self, value: LLVMValue, lanes: int) -> LLVMValue:
        """A vector with the scalar in every lane."""
        if lanes == 1:
            return value
        vector_type = LLVMType(value.type.element, lanes)
        first = self.emit(vector_type, f"insertelement {vector_type} poison, {value}, i64 0")
        return self.emit(
            vector_type, f"shufflevector {first}, {vector_type} poison, <{lanes} x i32> zeroinitializer"
        )


def alignment(llvm_type: LLVMType) -> int:
    """The guaranteed alignment in bytes: the alignment of one element, also for vectors."""
    return max(llvm_type.bits // 8, 1)
