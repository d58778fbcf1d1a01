"""Builder of functions of the executor: i64 slots in memory, atomic operations, endless loops, floating-point mode.

A *slot* is 8 bytes at an index from a base pointer: a number or an address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Target
from sardonyx._src.compile.codegen.blocks import BlockBuilder

X86_EXCEPTION_FLAGS = 0x3F  # bits of MXCSR that record exceptions, and do not belong to the mode
# MXCSR, FPCR, or LLVM's number of the rounding mode: round to nearest, subnormals kept, no traps.  RISC-V always keeps
# subnormals, and has no traps.
DEFAULT_FLOAT_MODE = {"x86": 0x1F80, "arm": 0, "riscv": 1}
INTRINSIC_DECLARATIONS = {
    "x86": (
        "declare void @llvm.x86.sse2.pause()",
        "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "declare void @llvm.x86.sse.ldmxcsr(ptr)",
    ),
    "arm": (
        "declare void @llvm.aarch64.hint(i32 immarg)",
        "declare i64 @llvm.aarch64.get.fpcr()",
        "declare void @llvm.aarch64.set.fpcr(i64)",
    ),
    "riscv": (
        "declare i32 @llvm.get.rounding()",
        "declare void @llvm.set.rounding(i32)",
    ),
}


class RuntimeFunctionBuilder(BlockBuilder):
    """A function builder with accesses to i64 slots, plain and atomic, and control of the floating-point mode."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.has_fma)
        self.architecture = architecture_family(target)

    def parameter(self, name: str) -> LLVMValue:
        """An i64 parameter of the function."""
        return LLVMValue(self, I64, f"%{name}")

    def slot_address(self, base: str, index: LLVMValue | int) -> str:
        """The name of the pointer to a slot."""
        return self.gep(base, self.as_value(index, I64), "i64")

    def load_slot(self, base: str, index: LLVMValue | int) -> LLVMValue:
        return self.load(MemoryLocation(self.slot_address(base, index), I64))

    def load_slot_pointer(self, base: str, index: LLVMValue | int) -> str:
        return self.load_pointer(self.slot_address(base, index))

    def store_slot(self, base: str, index: int, value: LLVMValue | int) -> None:
        self.store(MemoryLocation(self.slot_address(base, index), I64), self.as_value(value, I64))

    def store_slot_pointer(self, base: str, index: int, pointer: str) -> None:
        self.lines.append(f" store ptr {pointer}, ptr {self.slot_address(base, index)}, align 8")

    def load_acquire(self, base: str, index: int) -> LLVMValue:
        return self.emit(I64, f"load atomic i64, ptr {self.slot_address(base, index)} acquire, align 8")

    def store_release(self, base: str, index: int, value: LLVMValue | int) -> None:
        value = self.as_value(value, I64)
        self.lines.append(f" store atomic {value}, ptr {self.slot_address(base, index)} release, align 8")

    def atomic_add(self, base: str, index: int, number: LLVMValue) -> None:
        self.emit(I64, f"atomicrmw add ptr {self.slot_address(base, index)}, {number} release, align 8")

    def compare_exchange(
        self, base: str, index: int, old: LLVMValue | int, new: LLVMValue | int
    ) -> tuple[LLVMValue, LLVMValue]:
        """Atomically replaces `old` by `new` (acquire); returns the value before, and whether it was `old`."""
        old, new = self.as_value(old, I64), self.as_value(new, I64)
        pair = self.new_label("%pair")
        self.lines.append(
            f" {pair} = cmpxchg ptr {self.slot_address(base, index)}, {old}, {new} acquire acquire, align 8"
        )
        previous = self.emit(I64, f"extractvalue {{ i64, i1 }} {pair}, 0")
        return previous, self.emit(I64.with_element("i1"), f"extractvalue {{ i64, i1 }} {pair}, 1")

    @contextmanager
    def loop_forever(self) -> Iterator[None]:
        """The body of a loop that only `emit_return` leaves."""
        head = self.new_label("head")
        self.enter_block(head)
        yield
        self.lines.append(f" br label %{head}")
        self.start_block(self.new_label("never"))

    @contextmanager
    def loop_while(self, condition: Callable[[], LLVMValue]) -> Iterator[None]:
        """The body of a loop; `condition` emits the code that is evaluated before each iteration."""
        head, inside, done = (self.new_label(word) for word in ("head", "body", "done"))
        self.enter_block(head)
        self.lines.append(f" br {condition()}, label %{inside}, label %{done}")
        self.start_block(inside)
        yield
        self.lines.append(f" br label %{head}")
        self.start_block(done)

    def emit_return(self, value: str) -> None:
        """Returns from the function: `i64 1`, `void`."""
        self.lines.append(f" ret {value}")
        self.start_block(self.new_label("behind"))

    def pause(self) -> None:
        """The spin-wait hint: `pause` or `yield`; RISC-V has one in an extension only."""
        call = {"x86": "@llvm.x86.sse2.pause()", "arm": "@llvm.aarch64.hint(i32 1)"}.get(self.architecture)
        if call:
            self.lines.append(f" call void {call}")

    def load_float_mode(self) -> LLVMValue:
        """The floating-point mode of this thread (rounding, subnormals, traps): MXCSR, FPCR, or the rounding mode."""
        if self.architecture == "arm":
            return self.emit(I64, "call i64 @llvm.aarch64.get.fpcr()")
        if self.architecture == "riscv":
            return self.emit(LLVMType("i32"), "call i32 @llvm.get.rounding()").convert("zext", "i64")
        slot = self.new_slot("mode", LLVMType("i32"))
        self.lines.append(f" call void @llvm.x86.sse.stmxcsr(ptr {slot.name})")
        return (self.load(slot) & ~X86_EXCEPTION_FLAGS).convert("zext", "i64")

    def store_float_mode(self, mode: LLVMValue) -> None:
        if self.architecture == "arm":
            self.lines.append(f" call void @llvm.aarch64.set.fpcr({mode})")
            return
        if self.architecture == "riscv":
            self.lines.append(f" call void @llvm.set.rounding({mode.convert('trunc', 'i32')})")
            return
        slot = self.new_slot("mode", LLVMType("i32"))
        self.store(slot, mode.convert("trunc", "i32"))
        self.lines.append(f" call void @llvm.x86.sse.ldmxcsr(ptr {slot.name})")

    def build_function(self, head: str) -> str:
        """The text of the function, whose last block is unreachable."""
        return "\n".join(
            (f"define {head} nounwind {{", "entry:", *self.allocas, *self.lines, " unreachable", "}")
        )


def architecture_family(target: Target) -> str:
    """`x86`, `arm` or `riscv`, the key of instructions that differ between architectures."""
    prefixes = {"x86": ("x86_64", "amd64"), "arm": ("aarch64", "arm64"), "riscv": ("riscv64",)}
    family = next((name for name, begins in prefixes.items() if target.triple.startswith(begins)), None)
    assert family, f"target must be x86-64, AArch64 or RISC-V; got {target.triple}"
    return family
