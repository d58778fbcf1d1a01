"""A function builder for native code that uses the thread pool (`pool_layout.py`)."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.atomics import RuntimeFunctionBuilder
from sardonyx._src.compile.executor.pool_layout import GET_CPU, SCHED_YIELD, SPIN_COUNT


class PoolFunctionBuilder(RuntimeFunctionBuilder):
    """A function builder with operations on the pool: system calls, kernel calls, waiting."""

    def call_system(self, pool: str, function: int, *operands: str) -> None:
        """Calls a system function, whose address is a slot of the pool, with pointer operands."""
        arguments = ", ".join(f"ptr {operand}" for operand in operands)
        self.emit(I64.with_element("i32"), f"call i32 {self.load_slot_pointer(pool, function)}({arguments})")

    def current_processor(self, pool: str) -> LLVMValue:
        """The number of the CPU that runs this thread."""
        cpu = self.emit(I64.with_element("i32"), f"call i32 {self.load_slot_pointer(pool, GET_CPU)}()")
        return cpu.convert("sext", "i64")

    def call_kernel(
        self, kernel: str, args: str, first: LLVMValue | int, last: LLVMValue, scratch: str
    ) -> None:
        """Calls a kernel for the units of work in [first, last)."""
        first = self.as_value(first, I64)
        self.lines.append(f" call void {kernel}(ptr {args}, {first}, {last}, ptr {scratch})")

    def spin_wait(self, pool: str, tries: MemoryLocation) -> None:
        """One step of a spin wait: pauses, or yields the CPU after SPIN_COUNT steps."""
        n = self.load(tries) + 1
        self.store(tries, n)
        pauses = n < SPIN_COUNT
        with self.if_then(pauses):
            self.pause()
        with self.if_then(pauses.eq(0)):
            self.call_system(pool, SCHED_YIELD)
